"""The job as users start it: one line per table, and bad input detected before Spark starts."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kafka_lagoon.cli.main import main, options_of
from kafka_lagoon.cli.maintain import maintain_arguments, maintained_line
from kafka_lagoon.delta.maintain import Files, Maintained, MaintainOptions
from kafka_lagoon.delta.old_rows import RemovedRows
from kafka_lagoon.delta.open_warehouse import open_warehouse
from tests.clock import CLOCK
from tests.closed import modes_bind
from tests.delta.test_maintain import YESTERDAY, ingest
from tests.jobs.commands import here, submit
from tests.jobs.test_outcome import assert_all_fields, finished
from tests.metrics.parsed import in_file, value
from tests.warehouses import settings


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--keep-hours", "24"], "lagoon: 24 hours are less than 168: "),
        (["--tables", "records,nix"], "lagoon: there is no table nix"),
        (["--set", "frobnicate=1"], "lagoon: frobnicate: no such setting"),
    ],
)
def test_bad_input_is_known_before_spark_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], complaint: str
) -> None:
    """One clear line, exit 2, and nothing is made."""
    assert main(["maintain", "--warehouse", str(tmp_path / "lake"), *arguments]) == 2
    assert [line for line in capsys.readouterr().err.splitlines() if line.startswith(complaint)]
    assert not (tmp_path / "lake").exists()


def test_arguments_and_settings(tmp_path: Path) -> None:
    """Retention is in the settings; tables are maintained in the order in which old rows must be removed."""
    conf = tmp_path / "conf.toml"
    conf.write_text("[retention]\nrecords_days = 90\n")
    given = ["--warehouse", "w", "--conf", str(conf), "--tables", "records, brokers,record_ranges,snapshots"]
    options = maintain_arguments(options_of("maintain", given), {}).options
    assert options.tables == ("snapshots", "brokers", "records", "record_ranges")
    assert (options.retention.records_days, options.retention.snapshots_all_days) == (90, None)


def test_what_is_said_of_old_rows() -> None:
    """The lines have numbers of removed or removable rows and days."""
    done = Maintained(
        table="t", days=0, before=Files(), after=Files(), removed=Files(), old=RemovedRows(days=2, rows=7_000)
    )
    assert maintained_line(done, MaintainOptions()) == "t: 7,000 old rows of 2 days removed"
    assert maintained_line(done, MaintainOptions(dry_run=True)) == "t: 7,000 old rows of 2 days would be removed"
    uncounted = replace(done, old=RemovedRows(days=2, rows=0, uncounted=1))
    of_log = "without those of 1 file that the log does not count"
    assert maintained_line(uncounted, MaintainOptions()) == f"t: 0 old rows of 2 days removed, {of_log}"


@pytest.mark.parametrize(
    ("closed", "mode", "complaint"),
    [
        (
            "",
            0o500,
            r"file:.*/lake cannot be written: Permission denied: it belongs to user \w+: let user \d+ write to it",
        ),
        (
            ".lagoon-commit.lock",
            0o400,
            r".*/\.lagoon-commit\.lock cannot be locked: Permission denied: it belongs to .*",
        ),
    ],
)
def test_a_warehouse_that_cannot_be_written(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str], closed: str, mode: int, complaint: str
) -> None:
    """One line instead of one for each table, and exit 2; a dry run writes nothing."""
    lake = tmp_path / "lake"
    open_warehouse(spark, settings(f"warehouse={lake}"), CLOCK)
    (lake / closed).chmod(mode)
    with modes_bind():
        codes = [
            main(["maintain", "--warehouse", str(lake), "--set", "umask=077", *more]) for more in ((), ("--dry-run",))
        ]
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("lagoon: ")]
    assert codes == [2, 0]
    assert re.fullmatch(f"lagoon: warehouse: {complaint}", "\n".join(lines))


@pytest.mark.usefixtures("spark")
def test_a_warehouse_that_cannot_be_entered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It cannot be written, either: exit 2 as for other jobs, where it was 1. A dry run would only have read."""
    lake = tmp_path / "lake"
    lake.mkdir(0)  # the JVM of the tests may be root's, and would find tables
    with modes_bind():
        codes = [main(["maintain", "--warehouse", str(lake), *more]) for more in ((), ("--dry-run",))]
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("lagoon: ")]
    assert codes == [2, 1]
    assert [re.sub(r"user \w+,", "user U,", line) for line in lines] == [
        f"lagoon: {name}{lake}: Permission denied: it belongs to user U, who can let others read it (docs/security.md, umask)"
        for name in ("warehouse: ", "")
    ]


@pytest.mark.proof
def test_maintain_by_spark_submit(spark: SparkSession, tmp_path: Path) -> None:
    """Without tables there is one line and exit 1; with tables one line each, done or to be done."""
    options = ("--warehouse", str(tmp_path / "lake"), "--tables", "records,brokers")
    metrics = ("--set", f"metrics.folder={tmp_path}")
    nothing = here("maintain", *options, *metrics, "--log-file", str(tmp_path / "early"))
    assert nothing.returncode == 1
    file = tmp_path / "lagoon-run-maintain.prom"
    assert value(in_file(file), "lagoon_run_exit_code", lagoon_job="maintain") == 1
    (event,) = finished(tmp_path / "early")
    assert (event["status"], event["exit_code"], event["table"]) == ("failed", 1, None)
    assert "there is no table snapshots at " in event["error"]
    assert "there is no table snapshots at " in nothing.stderr
    warehouse = open_warehouse(spark, settings(f"warehouse={tmp_path / 'lake'}"), CLOCK)
    for number in (1, 2):
        ingest(warehouse, YESTERDAY, number)
    log = tmp_path / "log"
    would = here("maintain", *options, "--dry-run", "--log-file", str(log))
    assert would.returncode == 0, would.stdout
    assert "records: 2 files (" in would.stdout
    assert "of 1 days would be rewritten into about 1 files" in would.stdout
    for event, table, rewritten in zip(finished(log), ("brokers", "records"), (0, 2), strict=True):
        assert_all_fields(event)
        assert (event["table"], event["status"], event["exit_code"]) == (table, "complete", 0)
        assert (event["dry_run"], event["files_rewritten"]) == (True, rewritten)
    assert value(in_file(file), "lagoon_run_exit_code", lagoon_job="maintain") == 1
    done = submit("maintain", *options, *metrics)
    assert done.returncode == 0, done.stdout
    assert "of 1 days rewritten into 1 files (" in done.stdout
    assert "brokers: nothing to do" in done.stdout
    assert value(in_file(file), "lagoon_run_exit_code", lagoon_job="maintain") == 0
