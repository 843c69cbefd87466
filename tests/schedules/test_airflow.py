"""The DAGs of conf/airflow, in a real Airflow with an environment of its own, against real brokers."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event, Thread
from typing import Any, Self

import pytest
from confluent_kafka.admin import NewTopic
from deltalake import DeltaTable

from kafka_lagoon.clock import SYSTEM_CLOCK
from kafka_lagoon.delta.lock import locked
from tests.fake.broker import fake_cluster
from tests.fake.cluster import FakeCluster
from tests.installed import CLONE
from tests.integration.secured import PASSWORD, Secured
from tests.integration.state import create_topics, produce
from tests.jobs.archived import archived, consumed
from tests.jobs.commands import environment, rows
from tests.tools import is_there, schedules

DAGS = CLONE / "conf" / "airflow"
RUNS_DAGS = Path(__file__).parent / "dag_run.py"
pytestmark = [pytest.mark.proof, pytest.mark.timeout(900)]


@dataclass(frozen=True)
class Ended:
    """The outcomes of DAG runs, and the output of Airflow."""

    result: dict[str, Any]
    printed: str

    def tasks(self, what: str) -> list[Any]:
        """Return the `state` of the only task of each run, or how often it was started (`tries`)."""
        return [task[what] for run in self.result["runs"] for task in run["tasks"].values()]


@dataclass(frozen=True)
class Airflow:
    """An Airflow with its own database, and the settings of Kafka Lagoon that its DAGs use."""

    folder: Path
    python: Path

    @property
    def lake(self) -> Path:
        """Return the folder of the warehouse."""
        return self.folder / "lake"

    def start(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Start Airflow's interpreter with these arguments, without settings of Spark."""
        environ = environment(
            AIRFLOW_HOME=str(self.folder / "airflow"),
            AIRFLOW__CORE__LOAD_EXAMPLES="False",
            AIRFLOW__CORE__DAGS_FOLDER=str(DAGS),
            AIRFLOW_VAR_LAGOON_HOME=sys.prefix,
            AIRFLOW_VAR_LAGOON_CONF=str(self.folder / "lagoon.toml"),
            AIRFLOW_VAR_LAGOON_REPORTS=str(self.folder),
            AIRFLOW_CONN_SPARK_DEFAULT=json.dumps({"conn_type": "spark", "host": "local[1]"}),
        )
        del environ["SPARK_CONF_DIR"]
        return subprocess.run(
            [self.python, *arguments], env=environ | more, capture_output=True, text=True, timeout=600, check=False
        )

    def run(self, connection: Mapping[str, Any] | None, *wanted: str, **more: str) -> Ended:
        """Run DAGs, each for a time, with this connection to Kafka."""
        kafka = {"AIRFLOW_CONN_LAGOON_KAFKA": json.dumps(connection)} if connection else {}
        done = self.start(str(RUNS_DAGS), str(DAGS), *wanted, **kafka, **more)
        printed = done.stdout + done.stderr
        assert done.returncode == 0, printed
        return Ended(json.loads(done.stdout.splitlines()[-1]), printed)


@pytest.fixture(scope="module")
def airflow(tmp_path_factory: pytest.TempPathFactory) -> Airflow:
    """An Airflow with an empty database."""
    made = Airflow(tmp_path_factory.mktemp("airflow"), is_there(schedules()))
    (made.folder / "lagoon.toml").write_text(f'warehouse = "{made.lake}"\ncreate = true\n[ingest]\ntopics = "flown"\n')
    migrated = made.start("-m", "airflow", "db", "migrate")
    assert migrated.returncode == 0, migrated.stderr
    return made


class CommandLines:
    """Records the command lines of all processes while something runs."""

    def __init__(self) -> None:
        self.seen: set[bytes] = set()
        self._over = Event()
        self._thread = Thread(target=self._look)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(0.1):
            for line in Path("/proc").glob("[0-9]*/cmdline"):
                try:
                    self.seen.add(line.read_bytes())
                except OSError:  # the process has ended
                    continue


def now(minutes: float = 0) -> str:
    """Return a time, this many minutes from now."""
    return (datetime.now(UTC) + timedelta(minutes=minutes)).isoformat(timespec="seconds")


def by_password(secured: Secured) -> dict[str, Any]:
    """Return the Airflow connection of a user with a password; the security protocol has Kafka's name."""
    settings = secured.settings("scram-512")
    host, _, port = settings["bootstrap_servers"].rpartition(":")
    names = {"security.protocol": settings["security_protocol"], "sasl.mechanism": settings["sasl_mechanism"]}
    login, password = settings["sasl_username"], settings["sasl_password"]
    user = {"login": login, "password": password}
    return {"conn_type": "kafka", "host": host, "port": int(port), **user, "extra": json.dumps(names)}


def versions(lake: Path) -> dict[str, int]:
    """Return the version of each table."""
    return {log.parent.name: DeltaTable(str(log.parent)).version() for log in lake.glob("*/_delta_log")}


def test_airflow_finds_the_dags(airflow: Airflow) -> None:
    """Every DAG can be imported, has one task, and runs one at a time without catching up."""
    result = airflow.run(None).result
    assert result["errors"] == {}
    jobs = ["snapshot", "ingest", "maintain", "report"]
    alike = {"catchup": False, "max_active_runs": 1}
    assert result["dags"] == {f"lagoon_{job}": {**alike, "tasks": [job]} for job in jobs}


def test_one_interval_twice(airflow: Airflow, secured: Secured) -> None:
    """Every job runs on a real broker, with a password that no command line and no log shows.

    A snapshot of the same interval writes nothing, and an ingest continues where it ended.
    """
    create_topics(secured.kafka.bootstrap_servers, [NewTopic("flown", 2, 1)])
    produce(secured.kafka.bootstrap_servers, "flown", 500)
    slot = now(-3)
    with CommandLines() as lines:
        first = airflow.run(by_password(secured), "lagoon_snapshot", slot, "lagoon_ingest", slot)
    assert first.tasks("state") == ["success", "success"], first.printed
    assert any(b"jobs/snapshot.py" in line for line in lines.seen)
    assert not [line for line in lines.seen if PASSWORD.encode() in line]
    assert PASSWORD not in first.printed
    (snapshot,) = rows(airflow.lake, "snapshots")
    assert snapshot["slot"] == datetime.fromisoformat(slot)
    assert archived(airflow.lake) == consumed(secured.kafka.bootstrap_servers, ["flown"])

    before = versions(airflow.lake)
    again = airflow.run(by_password(secured), "lagoon_snapshot", slot, "lagoon_ingest", slot)
    assert again.tasks("state") == ["success", "success"], again.printed
    assert "the slot is published as snapshot" in again.printed
    assert versions(airflow.lake) == before

    later = airflow.run(None, "lagoon_maintain", now(), "lagoon_report", slot)
    assert later.tasks("state") == ["success", "success"], later.printed
    page = airflow.folder / f"report-{slot[:10]}.html"
    assert str(snapshot["cluster_id"]) in page.read_text()


def test_a_late_interval_is_refused(airflow: Airflow, secured: Secured) -> None:
    """An interval of two hours ago fails at its first try with a readable message, and writes nothing."""
    before = versions(airflow.lake)
    late = airflow.run(by_password(secured), "lagoon_snapshot", now(-120))
    assert (late.tasks("state"), late.tasks("tries")) == (["failed"], [1]), late.printed
    assert "snapshot ended with exit code 2: --slot" in late.printed
    assert "only the current state of a cluster can be captured" in late.printed
    assert versions(airflow.lake) == before


def test_another_run_holds_the_lock(airflow: Airflow, secured: Secured) -> None:
    """A snapshot is skipped while another one holds the lock."""
    airflow.lake.mkdir(exist_ok=True)
    with locked(airflow.lake / ".lagoon-cluster-default.lock", SYSTEM_CLOCK):
        second = airflow.run(by_password(secured), "lagoon_snapshot", now())
    assert (second.tasks("state"), second.tasks("tries")) == (["skipped"], [1]), second.printed
    assert "snapshot ended with exit code 4: " in second.printed


@pytest.fixture
def leaderless() -> Iterator[FakeCluster]:
    """A cluster in which one of three partitions has no leader."""
    state = FakeCluster()
    state.add_topic("t", 3)
    state.topics["t"].partitions[1].leader_id = -1
    with fake_cluster(state):
        yield state


@pytest.mark.parametrize(("choice", "state"), [("warn", "success"), ("fail", "failed")])
def test_an_incomplete_run(airflow: Airflow, leaderless: FakeCluster, tmp_path: Path, choice: str, state: str) -> None:
    """Exit code 3 is a warning, or, if so chosen, a failure without retries.

    The brokers are in Extra of a connection, or, without a connection, in the settings.
    """
    servers = ",".join(f"{host}:{port}" for host, port in leaderless.addresses.values())
    connection = {"conn_type": "generic", "extra": json.dumps({"bootstrap_servers": servers})}
    settings = f'warehouse = "{tmp_path / "lake"}"\ncreate = true\n'
    if choice == "fail":
        connection, settings = None, f'{settings}[kafka]\nbootstrap_servers = "{servers}"\n'
    (tmp_path / "lagoon.toml").write_text(settings)
    chosen = {"AIRFLOW_VAR_LAGOON_CONF": str(tmp_path / "lagoon.toml"), "AIRFLOW_VAR_LAGOON_INCOMPLETE": choice}
    ended = airflow.run(connection, "lagoon_snapshot", now(), **chosen)
    assert (ended.tasks("state"), ended.tasks("tries")) == ([state], [1]), ended.printed
    assert "snapshot ended with exit code 3: " in ended.printed


def test_a_failure_is_tried_again(airflow: Airflow) -> None:
    """Exit code 1 is retried by Airflow: twice, a minute apart."""
    nobody = {"conn_type": "kafka", "host": "127.0.0.1", "port": 1}
    ended = airflow.run(nobody, "lagoon_snapshot", now())
    assert (ended.tasks("state"), ended.tasks("tries")) == (["failed"], [3]), ended.printed
    assert "127.0.0.1:1: connect: Connection refused" in ended.printed
