"""README's command lines run unchanged on a real cluster, in a folder with the content of a clone."""

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka.admin import NewTopic

from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.documents import README, ROOT, blocks
from tests.integration.state import create_topics, produce
from tests.jobs.commands import SETTINGS, environment, rows

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]  # an ingest starts Spark

TEXT = README.read_text("utf-8")
NOBODY_THERE = "127.0.0.1:1"  # no broker, which is detected before Spark is started


@dataclass(frozen=True)
class Clone:
    """A folder with the parts of a clone that README names."""

    folder: Path

    def run(self, script: str) -> subprocess.CompletedProcess[str]:
        """Run a block of commands, one after the other until one fails, as a user pastes them."""
        command = ["/bin/sh", "-exc", script]
        environ = {name: value for name, value in environment().items() if name not in SETTINGS}  # lagoon.toml is read
        return subprocess.run(
            command, cwd=self.folder, env=environ, capture_output=True, text=True, timeout=540, check=False
        )

    def conf(self, servers: str) -> None:
        """Write the settings file that README shows, for a cluster."""
        (shown,) = blocks(TEXT, "toml")
        here = shown.replace("/var/lib/lagoon", str(self.folder / "lake")).replace("localhost:9092", servers)
        (self.folder / "lagoon.toml").write_text(here)


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    """A clone as after `make setup`."""
    for name in ("conf", "jobs"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / ".venv").symlink_to(Path(sys.executable).parent.parent)
    (tmp_path / "lake").mkdir()
    return Clone(tmp_path)


def scripts() -> list[str]:
    """Return README's blocks of commands about the user's own cluster, without calls of make."""
    own = TEXT.partition("## Your own cluster\n")[2]
    return [re.sub(r"^make .*\n", "", block, flags=re.MULTILINE) for block in blocks(own, "sh")]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LocalKafka]:
    """A cluster of its own, because other tests use the name of README's topic, too."""
    with LocalKafka(tmp_path / "kafka") as kafka:
        yield kafka


@pytest.mark.proof
@pytest.mark.kafka
def test_from_clone_to_tables(clone: Clone, cluster: LocalKafka) -> None:
    """The steps run in README's order: settings, the doctor, a snapshot, an archive, SQL, a page, maintenance."""
    kafka = cluster
    create_topics(kafka.bootstrap_servers, [NewTopic("orders", 2, 1)])
    produce(kafka.bootstrap_servers, "orders", 500)
    set_up, check, first_runs, *_ = scripts()
    assert clone.run(set_up).returncode == 0
    assert (clone.folder / "lagoon.toml").read_text() == (ROOT / "conf" / "local.toml").read_text()
    clone.conf(kafka.bootstrap_servers)
    assert clone.run('PATH="$PWD/.venv/bin:$PATH"\n' + check).returncode in {0, 3}  # 3: warnings about this machine
    done = clone.run('PATH="$PWD/.venv/bin:$PATH"\n' + first_runs)
    assert done.returncode == 0, done.stderr
    assert [row["cluster"] for row in rows(clone.folder / "lake", "snapshots")] == ["default"]
    assert (clone.folder / "report.html").stat().st_size > 10_000
    assert re.search(r"^orders +500 ", done.stdout, re.MULTILINE), done.stdout


@pytest.mark.proof
def test_spark_submit(clone: Clone) -> None:
    """The script runs as far as possible without a broker."""
    clone.conf(NOBODY_THERE)
    done = clone.run('PATH="$PWD/.venv/bin:$PATH"\n' + scripts()[3])
    assert done.returncode == 1
    assert f"lagoon: default: {NOBODY_THERE}: connect: Connection refused\n" in done.stdout


@pytest.mark.proof
def test_crontab(clone: Clone) -> None:
    """The schedule is a file of the clone that begins like a crontab; tests/schedules runs its lines."""
    (clone.folder / "crontab").write_text('#!/bin/sh\ncp "$3" installed\n')
    (clone.folder / "crontab").chmod(0o755)
    assert clone.run('PATH="$PWD:$PATH"\n' + scripts()[4]).returncode == 0
    scheduled = re.findall(
        r"^(?:[-*/,\d]+ ){5} *\(date [^;]+; \$LAGOON (\w+)", (clone.folder / "installed").read_text(), re.MULTILINE
    )
    assert {"snapshot", "ingest", "maintain", "report"} == set(scheduled)
