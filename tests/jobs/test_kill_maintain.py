"""Maintenance killed in known states: readers find all expected rows, and the next run completes the work.

What a state is can be seen from the files of the lake. Where it was over before the kill came, the test tries again.
"""

import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import deltalake
import pytest
from pyspark.sql import SparkSession

from kafka_lagoon.delta.maintain import MaintainOptions, maintain
from kafka_lagoon.delta.open_warehouse import at_path
from kafka_lagoon.job_settings import RetentionSettings
from kafka_lagoon.tables.schema import TABLES
from tests.clock import CLOCK
from tests.delta.dated import day_of_snapshots, publish_all, shown
from tests.delta.test_old_rows import STEPWISE, archive
from tests.ingest.writers import contents
from tests.jobs.commands import environment
from tests.jobs.processes import Job, running
from tests.jobs.test_kill import ATTEMPTS

pytestmark = [pytest.mark.proof, pytest.mark.spark, pytest.mark.timeout(1800)]

TIMES = [f"{hour:02}:{minute:02}" for hour in range(24) for minute in (0, 3)]
THINNED = [f"--set=retention.{name}={days}" for name, days in STEPWISE if days is not None]
LAG = "consumer_lag"


@pytest.fixture(scope="module")
def template(spark: SparkSession, new_lake: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a lake with 480 snapshots of ten days and twelve ingests of four, to be copied."""
    place = tmp_path_factory.mktemp("killed") / "lake"
    shutil.copytree(new_lake, place)
    lake = at_path(spark, str(place))
    publish_all(lake, (made for days in range(5, 15) for made in day_of_snapshots(days, *TIMES)))
    for number in range(1, 13):
        archive(lake, 20 - number // 3, number)
    return place


def started(lake: Path, *arguments: str) -> AbstractContextManager[Job]:
    """Start `lagoon maintain`."""
    command = ["lagoon", "maintain", "--warehouse", str(lake), "--keep-hours", "0", "--force", *arguments]
    return running(command, environment(), lake)


def named(lake: Path, table: str) -> set[Path]:
    """Return the files of the latest version of a table, with an independent reader."""
    return {Path(file) for file in deltalake.DeltaTable(str(lake / table)).file_uris()}


def unnamed(lake: Path, table: str) -> set[Path]:
    """Return data files in a table's folder that its latest version does not name."""
    return set((lake / table).glob("*=*/*.parquet")) - named(lake, table)


def killed_before_its_commit(job: Job) -> bool:
    """Kill it when joined files of a table are written, and no version names them."""
    job.wait_until(lambda: job.files(f"{LAG}/*/*-joined.parquet"))
    job.kill()
    return any(path.name.endswith("-joined.parquet") for path in unnamed(job.warehouse, LAG))


def killed_before_the_checkpoint(job: Job) -> bool:
    """Kill it when a table's old files are replaced, and the following checkpoint is not written."""
    before = job.files(f"{LAG}/_delta_log/*.json")
    job.wait_until(lambda: job.files(f"{LAG}/_delta_log/*.json") - before)
    job.kill()
    last = max(job.files(f"{LAG}/_delta_log/*.json"))
    return not job.files(f"{LAG}/_delta_log/{last.stem}.checkpoint*.parquet")


def killed_between_tables(job: Job) -> bool:
    """Kill it when table `snapshots` is done, and the other tables are not."""
    before = job.files(f"{LAG}/_delta_log/*.json")
    job.wait_until(lambda: any(line.startswith("snapshots: ") for line in job.output))
    job.kill()
    return job.files(f"{LAG}/_delta_log/*.json") == before


def killed_while_removing(job: Job) -> bool:
    """Kill it when some unneeded files are removed, and others are not."""
    before = job.files(f"{LAG}/*/*-default.parquet")
    job.wait_until(lambda: before - job.files(f"{LAG}/*/*-default.parquet"))
    job.kill()
    return bool(unnamed(job.warehouse, LAG))


def killed_in_optimize(job: Job) -> bool:
    """Kill it when Spark has rewritten records, and no version names the files."""
    before = job.files("records/*/*.parquet")
    job.wait_until(lambda: job.files("records/*/*.parquet") - before)
    job.kill()
    return bool(unnamed(job.warehouse, "records"))


STATES = (
    killed_before_its_commit,
    killed_before_the_checkpoint,
    killed_between_tables,
    killed_while_removing,
    killed_in_optimize,
)


def killed(template: Path, place: Path, state: Callable[[Job], bool], arguments: list[str]) -> Path:
    """Make a lake in which maintenance was killed in a state."""
    for attempt in range(ATTEMPTS):
        lake = shutil.copytree(template, place / f"lake-{attempt}")
        with started(lake, *arguments) as job:
            if state(job):
                return lake
    pytest.fail(f"{state.__name__}: {''.join(job.output)}")


def seen(spark: SparkSession, lake: Path) -> tuple[Any, Any]:
    """Return the snapshots that views show, and the archived records."""
    opened = at_path(spark, str(lake))
    return shown(opened), contents(opened)


@pytest.mark.parametrize("thins", [False, True], ids=["joined", "thinned"])
@pytest.mark.parametrize("state", STATES)
def test_maintenance_that_dies(
    spark: SparkSession, template: Path, tmp_path: Path, state: Callable[[Job], bool], thins: bool
) -> None:
    """After SIGKILL views show only whole snapshots; the next run gives the same result as an undisturbed one."""
    retention = STEPWISE if thins else RetentionSettings()
    options = MaintainOptions(retention=retention, keep_hours=0, force=True)
    before = seen(spark, template)
    lake = killed(template, tmp_path, state, THINNED if thins else [])
    in_peace = shutil.copytree(template, tmp_path / "in-peace")
    maintain(at_path(spark, str(in_peace)), options, CLOCK)
    assert seen(spark, lake) in (before, seen(spark, in_peace))
    maintain(at_path(spark, str(lake)), options, CLOCK)
    assert seen(spark, lake) == seen(spark, in_peace)
    assert (seen(spark, in_peace) == before) is not thins
    for table in (table.name for table in TABLES):
        assert not unnamed(lake, table), table
    assert [one.table for one in maintain(at_path(spark, str(lake)), options, CLOCK) if one.days] == []
