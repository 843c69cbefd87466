"""A run reports exit codes, and one event per cluster, to its scheduler, optionally in a file."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from kafka_lagoon.cli.outcome import event_fields
from kafka_lagoon.cli.terminal import reported
from tests.fake.broker import fake_cluster
from tests.fake.cluster import FakeCluster, FakeCommit, FakeGroup
from tests.jobs.commands import here, rows
from tests.metrics.parsed import in_file, value

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

SLOT = datetime.now(UTC).isoformat(timespec="seconds")


@dataclass
class Lake:
    """A warehouse, and the address of brokers whose topic `t` has a partition without a leader."""

    warehouse: Path
    servers: str

    def run(self, job: str, *more: str) -> CompletedProcess[str]:
        """Run a job over that one cluster."""
        return here(job, "--warehouse", str(self.warehouse), "--set", f"kafka.bootstrap_servers={self.servers}", *more)

    def events(self, job: str, *more: str) -> list[dict[str, Any]]:
        """Return the events that a job adds to its log file."""
        log = self.warehouse.parent / "events.jsonl"
        log.unlink(missing_ok=True)
        self.run(job, "--log-file", str(log), *more)
        return finished(log)


def finished(log: Path) -> list[dict[str, Any]]:
    """Return the events that end a cluster's run, without the fields of every event."""
    events = [json.loads(line) for line in log.read_text().splitlines()]
    endings = [event for event in events if event.pop("event") == "run_finished"]
    assert all(event.pop("at") and event.pop("level") in {"info", "error"} for event in endings)
    return endings


def assert_all_fields(event: dict[str, Any]) -> None:
    """Check that an event has the fields of its job in docs/exit-codes.md, in order, with null for unknown values."""
    assert list(event) == [one.name for one in event_fields() if event["job"] in one.metadata["jobs"]]


@pytest.fixture(scope="module")
def lake(new_lake: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """Make one partial snapshot, of SLOT, of a cluster that answers for two of three partitions."""
    state = FakeCluster()
    state.add_topic("t", 3)
    state.topics["t"].partitions[1].leader_id = -1
    state.groups["g"] = FakeGroup(coordinator_id=1, commits={("t", p): FakeCommit(10 * p) for p in range(3)})
    with fake_cluster(state):
        servers = ",".join(f"{host}:{port}" for host, port in state.addresses.values())
        made = Lake(shutil.copytree(new_lake, tmp_path_factory.mktemp("events") / "lake"), servers)
        assert made.run("snapshot", "--slot", SLOT).returncode == 3
        yield made


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ([], 3),
        (["--accept-incomplete"], 0),
        (["--set", "snapshot.accept_incomplete=true"], 0),
        (["--set", "snapshot.fail_when_incomplete=true"], 1),
        (["--set", "snapshot.fail_when_incomplete=true", "--accept-incomplete"], 0),
    ],
)
def test_a_repeated_slot_has_the_exit_code_of_the_published_snapshot(lake: Lake, more: list[str], code: int) -> None:
    """A retry of a partial snapshot has the exit code of the first run, and writes nothing."""
    again = lake.run("snapshot", "--slot", SLOT, *more)
    assert again.returncode == code, again.stderr
    assert "default: the slot is published as snapshot " in again.stdout
    assert "INCOMPLETE: " in again.stdout
    assert sum(row["slot"] == datetime.fromisoformat(SLOT) for row in rows(lake.warehouse, "snapshots", "slot")) == 1


def test_a_new_partial_snapshot_can_be_accepted(lake: Lake) -> None:
    """`--accept-incomplete` makes the exit code of a new partial snapshot 0, and its status stays partial."""
    (event,) = lake.events("snapshot", "--accept-incomplete")
    assert (event["exit_code"], event["status"], event["already_published"]) == (0, "partial", False)


def test_a_snapshot_cannot_be_accepted_and_a_failure() -> None:
    """Both settings at once are bad configuration."""
    both = ("--set", "snapshot.accept_incomplete=true", "--set", "snapshot.fail_when_incomplete=true")
    refused = here("snapshot", "--warehouse", "w", "--set", "kafka.bootstrap_servers=a:1", *both)
    assert refused.returncode == 2
    assert "accept_incomplete and fail_when_incomplete exclude each other" in refused.stderr


def test_a_snapshot_ends_with_one_event(lake: Lake) -> None:
    """It has cluster, slot, snapshot, status, exit code, counts, failures, worst lag and requests, equal to the tables."""
    slot = datetime.now(UTC).isoformat(timespec="seconds")
    (event,) = lake.events("snapshot", "--slot", slot)
    assert_all_fields(event)
    (row,) = [one for one in rows(lake.warehouse, "snapshots") if one["snapshot_id"] == event["snapshot_id"]]
    assert 0 < event.pop("seconds") < 60
    assert event == {
        "job": "snapshot",
        "cluster": "default",
        "cluster_id": "fake",
        "slot": datetime.fromisoformat(slot).isoformat(timespec="milliseconds"),
        "snapshot_id": row["snapshot_id"],
        "already_published": False,
        "status": "partial",
        "exit_code": 3,
        "error": None,
        "failures": row["failures"],
        "brokers": 3,
        "topics": 1,
        "partitions": 3,
        "groups": 1,
        "worst_lag": 100,
        "worst_lag_group": "g",
        "worst_lag_topic": "t",
        "worst_lag_partition": 0,
        "requests": row["requests"],
    }


def test_a_repeated_slot_has_its_event(lake: Lake) -> None:
    """It has the snapshot with its status, and says that it was published before."""
    (event,) = lake.events("snapshot", "--slot", SLOT)
    published = [one for one in rows(lake.warehouse, "snapshots") if one["slot"] == datetime.fromisoformat(SLOT)]
    assert event["snapshot_id"] == published[0]["snapshot_id"]
    assert (event["status"], event["exit_code"], event["already_published"]) == ("partial", 3, True)
    assert event["failures"] == published[0]["failures"]
    assert event["brokers"] is None


def test_failures_name_their_cluster(lake: Lake) -> None:
    """In a run over two clusters the failed one is named, has its event, and the other is done."""
    log = lake.warehouse.parent / "two.jsonl"
    done = here(
        *("snapshot", "--warehouse", str(lake.warehouse), "--log-file", str(log)),
        *("--set", f"clusters.near.bootstrap_servers={lake.servers}"),
        *("--set", "clusters.far.bootstrap_servers=127.0.0.1:1"),
    )
    assert done.returncode == 3
    assert "lagoon: far: 127.0.0.1:1: connect: Connection refused\n" in done.stderr
    far, near = sorted(finished(log), key=lambda event: event["cluster"])
    assert (near["cluster"], near["status"], near["exit_code"], near["error"]) == ("near", "partial", 3, None)
    assert (far["cluster"], far["status"], far["exit_code"]) == ("far", "failed", 1)
    assert far["error"] == "127.0.0.1:1: connect: Connection refused"
    assert far["cluster_id"] is None
    assert near.keys() == far.keys()


def test_an_ingest_names_clusters_that_fail(tmp_path: Path) -> None:
    """Each cluster that does not answer has a line and an event of its own."""
    far = [part for name in "ab" for part in ("--set", f"clusters.{name}.bootstrap_servers=127.0.0.1:1")]
    done = here("ingest", "--warehouse", "w", "--topics", "t", "--log-file", str(tmp_path / "log"), *far)
    assert done.returncode == 1
    assert done.stderr == "".join(f"lagoon: {name}: 127.0.0.1:1: connect: Connection refused\n" for name in "ab")
    events = finished(tmp_path / "log")
    assert [(one["job"], one["cluster"], one["status"]) for one in events] == [
        ("ingest", "a", "failed"),
        ("ingest", "b", "failed"),
    ]


def test_a_run_that_is_locked_out_has_its_event(lake: Lake) -> None:
    """Exit 4 has an event, too."""
    import fcntl  # noqa: PLC0415

    with (lake.warehouse / ".lagoon-cluster-default.lock").open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        (event,) = lake.events("snapshot")
    assert (event["status"], event["exit_code"], event["snapshot_id"]) == ("locked", 4, None)
    assert "another run" in event["error"]


@pytest.mark.proof
def test_an_ingest_ends_with_one_event(lake: Lake) -> None:
    """It counts archived and other offsets as the tables do; `--accept-incomplete` changes only the exit code."""
    (event,) = lake.events("ingest", "--topics", "t")
    assert_all_fields(event)
    ranges = rows(lake.warehouse, "record_ranges")
    of_run = [row for row in ranges if row["ingest_id"] == event["ingest_id"]]
    assert (event["job"], event["cluster"], event["cluster_id"]) == ("ingest", "default", "fake")
    assert (event["status"], event["exit_code"]) == ("partial", 3)
    assert event["topics"] == 1
    assert event["failures"] > 0
    for name in ("records", "lost", "corrupt", "bytes_fetched"):
        assert event[name] == sum(row[name] for row in of_run), name
    assert event["requests"] > 0
    (accepted,) = lake.events("ingest", "--topics", "t", "--accept-incomplete")
    assert (accepted["status"], accepted["exit_code"]) == ("partial", 0)


def test_the_log_file_is_appended_to_and_stands_apart(lake: Lake, tmp_path: Path) -> None:
    """Two runs append to one file of JSON lines; the output for people has none of them."""
    log = tmp_path / "lagoon.jsonl"
    done = [lake.run("snapshot", "--slot", SLOT, "--log-file", str(log)) for _ in range(2)]
    assert len(finished(log)) == 2
    assert all("{" not in one.stdout + one.stderr for one in done)


def test_a_log_file_that_cannot_be_written(lake: Lake, tmp_path: Path) -> None:
    """It is a configuration error, detected before any request."""
    refused = lake.run("snapshot", "--log-file", str(tmp_path / "no" / "log"))
    assert refused.returncode == 2
    assert refused.stderr.endswith(f"lagoon: --log-file {tmp_path}/no/log: No such file or directory\n")


@pytest.mark.parametrize(
    ("argv", "error"),
    [
        (["snapshot", "--set", "frobnicate=1"], "frobnicate: no such setting"),
        (["ingest", "--topics", "t", "--conf", "nowhere.toml"], "nowhere.toml"),
        (["maintain", "--keep-hours", "24"], "24 hours are less than 168"),
    ],
)
def test_settings_that_cannot_work_have_an_event(argv: list[str], error: str, tmp_path: Path) -> None:
    """A run that never began has an event: no cluster, exit code 2, the lines that people read."""
    log = tmp_path / "log"
    bad = here(*argv, "--warehouse", "w", "--log-file", str(log))
    assert (bad.returncode, bad.stdout) == (2, "")
    assert error in bad.stderr
    (event,) = finished(log)
    assert_all_fields(event)
    assert (event["job"], event["status"], event["exit_code"]) == (argv[0], "misconfigured", 2)
    assert error in event["error"]
    known = {"job", "status", "exit_code", "error"}
    assert {name for name, value in event.items() if value is not None} == known


@pytest.mark.parametrize(
    "argv",
    [
        ["snapshot", "--warehouse", "{folder}/gone/warehouse", "--set", "create=false"],
        ["snapshot", "--warehouse", "{folder}/new", "--create", "--slot", "2026-01-01"],
        ["ingest", "--topics", "t", "--warehouse", "{folder}/gone/warehouse", "--set", "create=false"],
        ["ingest", "--warehouse", "{folder}/new", "--create"],
    ],
)
def test_a_run_that_is_refused_has_its_metrics(argv: list[str], tmp_path: Path) -> None:
    """The file of the run before said `complete`, so that no alert fired while a mount was missing."""
    metrics, log = tmp_path / "metrics", tmp_path / "log"
    metrics.mkdir()
    given = [one.format(folder=tmp_path) for one in argv]
    options = [
        "--set",
        "kafka.bootstrap_servers=127.0.0.1:1",
        "--set",
        f"metrics.folder={metrics}",
        "--log-file",
        str(log),
    ]
    assert here(*given, *options).returncode == 2
    (event,) = finished(log)
    assert (event["cluster"], event["status"]) == (None, "misconfigured")
    assert [path.name for path in metrics.iterdir()] == [f"lagoon-run-{argv[0]}-default.prom"]
    labels = {"lagoon_job": argv[0], "kafka_cluster": "default"}
    samples = in_file(metrics / f"lagoon-run-{argv[0]}-default.prom")
    assert value(samples, "lagoon_run_exit_code", **labels) == 2
    assert value(samples, "lagoon_run_status", **labels, status="misconfigured") == 1


def test_a_command_line_that_cannot_be_parsed_has_no_event(tmp_path: Path) -> None:
    """The log file is not known: one line names the fault."""
    bad = here("snapshot", "--frob", "--log-file", str(tmp_path / "log"))
    assert (bad.returncode, bad.stdout, bad.stderr.count("\n")) == (2, "", 1)
    assert not (tmp_path / "log").exists()


def test_a_fault_of_ours_has_its_event(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unexpected error ends with a traceback, and the cluster's event says failed and has only the error's class."""
    monkeypatch.setattr("kafka_lagoon.runs.snapshot.collect", lambda *_: 1 / 0)
    log = lake.warehouse.parent / "fault.jsonl"
    with pytest.raises(ZeroDivisionError):
        lake.run("snapshot", "--log-file", str(log))
    (event,) = finished(log)
    assert (event["status"], event["exit_code"], event["error"]) == ("failed", 1, "ZeroDivisionError")


@pytest.fixture(autouse=True)
def _no_log_file_afterwards() -> Iterator[None]:
    yield
    reported(lambda: 0)
