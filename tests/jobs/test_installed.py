"""The wheel without a clone, started by the unchanged recipes of conf/ and of docs/scheduling.md."""

import ast
import json
import re
import shlex
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import NewTopic

from kafka_lagoon.cli.main import options_of
from kafka_lagoon.cli.maintain import maintain_arguments
from kafka_lagoon.cli.report import report_arguments
from kafka_lagoon.clock import SYSTEM_CLOCK
from kafka_lagoon.delta.lock import locked
from kafka_lagoon.jars.locked_jars import DELTA
from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.documents import blocks, page
from tests.effort import first
from tests.installed import CLONE, Installed, install
from tests.integration.state import create_topics, produce
from tests.jobs.archived import archived, consumed
from tests.jobs.commands import rows
from tests.schedules.recipes import container_command, crontab, exec_start, unit

pytestmark = pytest.mark.spark  # most of them start Java

RECIPES = page("scheduling")
NOBODY_THERE = "127.0.0.1:1"  # no broker, which is detected before Spark is started: a run of half a second


@dataclass(frozen=True)
class Machine:
    """Paths in this test for those of the page."""

    installed: Installed
    log: Path

    def here(self, recipe: str, conf: Path) -> str:
        """Return a recipe with the paths of this machine."""
        moved = recipe.replace("/opt/kafka-lagoon/.venv", str(self.installed.environment))
        moved = re.sub(r"/etc/lagoon(/lagoon)?[.]toml", str(conf), moved)
        moved = moved.replace("/var/lib/lagoon/", f"{self.log.parent}/")
        return moved.replace("/var/log/lagoon", str(self.log))

    def cron(self, job: str, conf: Path) -> subprocess.CompletedProcess[str]:
        """A line of the crontab."""
        table = crontab()
        variables = {name: self.here(value, conf) for name, value in table.variables.items()}
        return self.installed.run(self.here(table.commands[job], conf), **variables)

    def systemd(self, name: str, conf: Path, instance: str = "") -> subprocess.CompletedProcess[str]:
        """Return the command that a unit starts."""
        return self.installed.run(self.here(exec_start(name, instance), conf))

    def pod(self, job: str, conf: Path, name: str) -> subprocess.CompletedProcess[str]:
        """Return the command of the container of a CronJob, in a Job of this name."""
        path = f"{self.installed.environment}/bin:/usr/bin:/bin"
        return self.installed.run(self.here(container_command(job), conf), PATH=path, JOB_NAME=name)

    def conf(self, servers: str) -> Path:
        """Write a settings file for a cluster."""
        path = self.log.parent / f"{servers.replace(':', '-')}.toml"
        path.write_text(
            f'warehouse = "{self.log.parent / "lake"}"\ncreate = true\n'
            f'[kafka]\nbootstrap_servers = "{servers}"\n[ingest]\ntopics = "installed"\n'
        )
        return path

    def event(self) -> dict[str, Any]:
        """Return the last event in the log file."""
        last: dict[str, Any] = json.loads((self.log / "events.jsonl").read_text().splitlines()[-1])
        assert last["event"] == "run_finished"
        return last


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """The wheel in an environment of its own, and a folder for logs."""
    folder = tmp_path_factory.mktemp("machine")
    (folder / "log").mkdir()
    return Machine(install(folder), folder / "log")


def block(language: str, needle: str) -> str:
    """Return the only code block of the page in a language that contains a text."""
    (recipe,) = (text for text in blocks(RECIPES, language) if needle in text)
    return recipe


def minute_of(slot: str) -> float:
    """Return the age of a slot in minutes."""
    return (datetime.now(UTC) - datetime.fromisoformat(slot)).total_seconds() / 60


@pytest.mark.proof
def test_wheel_and_recipes_on_a_real_cluster(machine: Machine, kafka: LocalKafka) -> None:
    """Without a clone and with only cron's variables: a snapshot, an ingest by spark-submit, and SQL over their tables."""
    create_topics(kafka.bootstrap_servers, [NewTopic("installed", 2, 3)])
    produce(kafka.bootstrap_servers, "installed", 500)
    lake, conf = machine.log.parent / "lake", machine.conf(kafka.bootstrap_servers)

    done = machine.cron("snapshot", conf)
    printed = (machine.log / "cron.log").read_text()
    assert done.returncode == 0, printed
    assert (done.stdout, done.stderr) == ("", "")
    assert re.search(r"default \(\S+\): 3 brokers, .* tables in ", printed)
    assert "run_finished" not in printed
    event = machine.event()
    assert (event["job"], event["status"]) == ("snapshot", "complete")
    assert 0 <= minute_of(event["slot"]) < 5
    assert [row["snapshot_id"] for row in rows(lake, "snapshots")] == [event["snapshot_id"]]

    submitted = machine.installed.run(machine.here(block("sh", "bin/spark-submit"), conf))
    assert submitted.returncode == 0, submitted.stdout + submitted.stderr
    assert "500 records of 2 partitions" in submitted.stdout
    assert "run_finished" not in submitted.stdout + submitted.stderr
    assert (machine.event()["job"], machine.event()["records"]) == ("ingest", 500)
    assert archived(lake) == consumed(kafka.bootstrap_servers, ["installed"])

    lagoon = machine.installed.environment / "bin" / "lagoon"
    statement = "SELECT 7 * count(*) AS sevenfold FROM records"
    answer = machine.installed.run(f"{lagoon} sql --warehouse {lake} '{statement}'")
    assert answer.returncode == 0, answer.stderr
    assert "3500" in answer.stdout
    in_pyspark = [path.name for path in machine.log.parent.glob("packages/pyspark/jars/*.jar")]
    assert in_pyspark
    assert not [name for name in in_pyspark if name.startswith("delta-")]


@pytest.mark.proof
def test_every_scheduler_takes_snapshots(machine: Machine, kafka: LocalKafka) -> None:
    """The slot is the minute of the run; in Kubernetes that of the CronJob, so that a second attempt writes nothing."""
    lake, conf = machine.log.parent / "lake", machine.conf(kafka.bootstrap_servers)
    by_systemd = machine.systemd("lagoon-snapshot.service", conf)
    assert by_systemd.returncode == 0, by_systemd.stdout + by_systemd.stderr
    assert 0 <= minute_of(machine.event()["slot"]) < 2

    due = datetime.now(UTC).replace(second=0, microsecond=0) - timedelta(minutes=7)
    name = f"lagoon-snapshot-{round(due.timestamp() / 60)}"
    first, again = (machine.pod("snapshot", conf, name) for _ in range(2))
    assert first.returncode == 0, first.stdout + first.stderr
    assert again.returncode == 0, again.stdout + again.stderr
    assert "nothing to do" in again.stdout
    assert [row["slot"] for row in rows(lake, "snapshots")].count(due) == 1
    hours_ago = due - timedelta(hours=3)
    late = machine.pod("snapshot", conf, f"lagoon-snapshot-{round(hours_ago.timestamp() / 60)}")
    assert late.returncode == 2
    assert f"lagoon: --slot {hours_ago:%Y-%m-%dT%H:%MZ} is " in late.stderr

    with locked(lake / ".lagoon-cluster-default.lock", SYSTEM_CLOCK):
        assert machine.pod("snapshot", conf, "lagoon-snapshot-by-hand").returncode == 4
        assert machine.systemd("lagoon-snapshot.service", conf).returncode == 4
        by_cron = machine.cron("snapshot", conf)
    assert (by_cron.returncode, by_cron.stdout, by_cron.stderr) == (0, "", "")
    assert (machine.event()["exit_code"], machine.event()["status"]) == (4, "locked")
    reported = machine.cron("report", conf)
    assert (reported.returncode, reported.stdout, reported.stderr) == (0, "", "")
    assert str(rows(lake, "snapshots")[0]["cluster_id"]) in (lake.parent / "report.html").read_text()
    assert unit("lagoon-snapshot.service")["Service"]["SuccessExitStatus"] == "4 143"


@pytest.mark.proof
def test_schedulers_start_ingests(machine: Machine) -> None:
    """Each sends requests to the cluster; cron prints the end of its log, which is mailed."""
    conf = machine.conf(NOBODY_THERE)
    assert_asked(machine, machine.systemd("lagoon@.service", conf, "ingest"), "ingest")
    by_cron = machine.cron("ingest", conf)
    assert f"lagoon: default: {NOBODY_THERE}: connect: Connection refused\n" in by_cron.stdout
    in_pod = machine.pod("ingest", conf, "lagoon-ingest-29000000")
    assert in_pod.returncode == 1
    assert f"lagoon: default: {NOBODY_THERE}: connect: Connection refused\n" in in_pod.stderr


@pytest.mark.proof
def test_every_scheduler_maintains_and_reports(machine: Machine) -> None:
    """Their options are those of the jobs, and the page is written to a folder that the job may write."""
    conf, options = machine.conf(NOBODY_THERE), crontab().variables["OPTIONS"]

    def arguments(command: str, job: str) -> list[str]:
        called = command.partition(">>")[0].strip().removesuffix(")").replace("$OPTIONS", options)
        words = shlex.split(machine.here(called, conf))
        return words[words.index(job) + 1 :]  # cron has the time and a lock before it

    units = {"maintain": exec_start("lagoon@.service", "maintain"), "report": exec_start("lagoon-report.service")}
    for job, unit_starts in units.items():
        for command in (crontab().commands[job], unit_starts, container_command(job)):
            argv = arguments(command, job)
            if job == "maintain":
                assert maintain_arguments(options_of(job, argv), {}).options.tables
            else:
                assert (
                    report_arguments(options_of(job, argv), {}, SYSTEM_CLOCK).out == machine.log.parent / "report.html"
                )


@pytest.mark.parametrize("job", first(["snapshot", "ingest"]))
def test_airflow(machine: Machine, job: str) -> None:
    """The commands of BashOperator, with the template filled in as by Airflow; missed runs are not repeated."""
    tree = ast.parse(block("python", "BashOperator"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    given = {(call.func.id, word.arg): word.value for call in calls for word in call.keywords if word.arg}
    assert ast.literal_eval(given["DAG", "catchup"]) is False
    commands = {}
    for call in calls:
        words = {word.arg: word.value for word in call.keywords}
        if call.func.id == "BashOperator":
            commands[ast.literal_eval(words["task_id"])] = ast.literal_eval(words["bash_command"])
    slot = datetime.now(UTC).isoformat()
    command = commands[job].replace("{{ data_interval_end | ts }}", slot)
    assert "{{" not in command
    done = machine.installed.run(machine.here(command, machine.conf(NOBODY_THERE)))
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"lagoon: default: {NOBODY_THERE}: connect: Connection refused\n" in done.stderr


def assert_asked(machine: Machine, done: subprocess.CompletedProcess[str], job: str) -> None:
    """Check that a run got as far as possible without a broker: arguments and settings were right."""
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stderr == f"lagoon: default: {NOBODY_THERE}: connect: Connection refused\n"
    assert (machine.event()["job"], machine.event()["status"]) == (job, "failed")


def test_without_a_registry_there_is_one_line(machine: Machine, tmp_path: Path) -> None:
    """If Delta's jars cannot be downloaded, as without a proxy, one line says so and no file is left."""
    lagoon = machine.installed.environment / "bin" / "lagoon"
    nowhere = " ".join(f"-D{scheme}.proxyHost=127.0.0.1 -D{scheme}.proxyPort=1" for scheme in ("http", "https"))
    refused = machine.installed.run(f"{lagoon} path jars", LAGOON_CACHE=str(tmp_path), JAVA_TOOL_OPTIONS=nowhere)
    assert refused.returncode == 1
    assert re.fullmatch(r"lagoon: 4 jars could not be downloaded: Server access error .*\n", refused.stderr)
    assert not list(tmp_path.rglob("*.jar"))


def test_paths_are_the_installation_s_own(machine: Machine) -> None:
    """`lagoon path` names folders of the environment, and jars of the user's cache."""
    lagoon = machine.installed.environment / "bin" / "lagoon"
    jobs, conf, jars = (
        machine.installed.run(f"{lagoon} path {name}").stdout.strip() for name in ("jobs", "conf", "jars")
    )
    (site,) = (machine.installed.environment / "lib").glob("python*/site-packages")
    assert sorted(path.name for path in Path(jobs).glob("[ims]*.py")) == ["ingest.py", "maintain.py", "snapshot.py"]
    assert Path(jobs) == site / "kafka_lagoon" / "jobs"
    assert Path(conf).is_relative_to(site)
    assert {path.name for path in Path(conf).iterdir()} == {path.name for path in (CLONE / "conf").iterdir()}
    cache = machine.installed.home / ".cache" / "kafka-lagoon" / "jars" / DELTA
    assert sorted(map(Path, jars.split(","))) == sorted(cache.glob("*.jar"))
