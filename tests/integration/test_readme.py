"""README's command lines run as they stand, on a real cluster, in a folder that has what a clone has."""

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka.admin import NewTopic

from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.documents import README, ROOT, blocks
from tests.integration.state import create_topics, produce
from tests.jobs.commands import environment, rows

pytestmark = pytest.mark.spark  # an ingest starts it

TEXT = README.read_text("utf-8")
NOBODY_THERE = "127.0.0.1:1"  # no broker, which is known before Spark is started


@dataclass(frozen=True)
class Clone:
    """A folder with the parts of a clone that README names, and where its paths are in this test."""

    folder: Path

    def run(self, script: str) -> subprocess.CompletedProcess[str]:
        """A block of commands, one after the other until one fails, as a user pastes them."""
        return self._sh(script, environment())

    def by_cron(self, command: str) -> subprocess.CompletedProcess[str]:
        """A command as cron starts it, with the variables that cron gives it."""
        bare = {"HOME": str(self.folder), "PATH": "/usr/bin:/bin", "SHELL": "/bin/sh", "LOGNAME": "lagoon"}
        kept = {name: value for name, value in environment().items() if name in {"JAVA_HOME", "PYTHONPATH"}}
        return self._sh(self.moved(command), bare | kept)

    def moved(self, text: str) -> str:
        """README's paths, where they are here."""
        places = {"/opt/kafka-lagoon": "", "/etc/lagoon.toml": "lagoon.toml", "/var/log/lagoon": "log"}
        for path, name in {**places, "/var/lib/lagoon": "lake"}.items():
            text = text.replace(path, str(self.folder / name))
        return text

    def conf(self, servers: str) -> None:
        """The settings file that README shows, for a cluster."""
        (shown,) = blocks(TEXT, "toml")
        (self.folder / "lagoon.toml").write_text(self.moved(shown).replace("localhost:9092", servers))

    def _sh(self, script: str, environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
        command = ["/bin/sh", "-exc", script]
        return subprocess.run(
            command, cwd=self.folder, env=environ, capture_output=True, text=True, timeout=240, check=False
        )


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    """As after `make setup`."""
    for name in ("conf", "jobs"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / ".venv").symlink_to(Path(sys.executable).parent.parent)
    for name in ("log", "lake"):
        (tmp_path / name).mkdir()
    return Clone(tmp_path)


def scripts() -> list[str]:
    """README's blocks of commands about a cluster of one's own, without what make does."""
    own = TEXT.partition("## Your own cluster\n")[2]
    return [re.sub(r"^make .*\n", "", block, flags=re.MULTILINE) for block in blocks(own, "sh")]


def test_from_clone_to_tables(clone: Clone, kafka: LocalKafka) -> None:
    """The steps in README's order: settings, questions, a snapshot, an archive, SQL, maintenance."""
    create_topics(kafka.bootstrap_servers, [NewTopic("orders", 2, 3)])
    produce(kafka.bootstrap_servers, "orders", 500)
    set_up, first_runs, _ = scripts()
    assert clone.run(set_up).returncode == 0
    assert (clone.folder / "lagoon.toml").read_text() == (ROOT / "conf" / "local.toml").read_text()
    clone.conf(kafka.bootstrap_servers)
    done = clone.run('PATH="$PWD/.venv/bin:$PATH"\n' + first_runs)
    assert done.returncode == 0, done.stderr
    assert [row["cluster"] for row in rows(clone.folder / "lake", "snapshots")] == ["default"]
    assert re.search(r"^orders +500 ", done.stdout, re.MULTILINE), done.stdout


def test_spark_submit(clone: Clone) -> None:
    """The script goes as far as it can without a broker."""
    clone.conf(NOBODY_THERE)
    done = clone.run('PATH="$PWD/.venv/bin:$PATH"\n' + scripts()[2])
    assert done.returncode == 1
    assert f"lagoon: default: {NOBODY_THERE}: connect: Connection refused\n" in done.stdout


def crontab() -> list[str]:
    """The commands of README's crontab, as cron gives them to sh: an escaped % is one, any other would end the line."""
    (lines,) = blocks(TEXT, "crontab")
    commands = [line.split(maxsplit=5)[5] for line in lines.splitlines()]
    assert not [command for command in commands if re.search(r"(?<!\\)%", command)]
    return [command.replace(r"\%", "%") for command in commands]


@pytest.mark.parametrize(
    "command", [one for one in crontab() if "lagoon maintain" not in one], ids=["snapshot", "ingest"]
)
def test_crontab(clone: Clone, command: str) -> None:
    """Arguments and settings are right: a job reaches for the cluster. `maintain` would start Spark; its line has no slot and no quotes."""
    clone.conf(NOBODY_THERE)
    done = clone.by_cron(command)
    printed = (clone.folder / "log" / "cron.log").read_text()
    assert (done.returncode, printed) == (1, f"lagoon: default: {NOBODY_THERE}: connect: Connection refused\n")
    assert "run_finished" in (clone.folder / "log" / "events.jsonl").read_text()
