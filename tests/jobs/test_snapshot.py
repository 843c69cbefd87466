"""The job as a user starts it: spark-submit in a process of its own, and two readers of its tables."""

import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from deltalake import DeltaTable

from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.effort import first
from tests.fake.broker import fake_cluster
from tests.fake.cluster import FakeCluster, FakeCommit, FakeGroup
from tests.fake.peer import peer
from tests.fetch.test_first_unread import timed
from tests.integration import kafka_tools as tools
from tests.integration.state import every_shape
from tests.jobs.commands import BIN, here, lagoon, rows, submit
from tests.metrics.parsed import in_file, value

pytestmark = [pytest.mark.kafka, pytest.mark.spark]


@pytest.fixture(scope="module")
def cluster(kafka: LocalKafka) -> Iterator[LocalKafka]:
    """Three brokers with groups of every shape, whose state does not change."""
    with every_shape(kafka.bootstrap_servers, 3, prefix="job-", with_new_protocol=True):
        yield kafka


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("start", first([here, submit]))  # an ingest by spark-submit is in `make test`
def test_a_snapshot_equals_kafkas_tools(
    cluster: LocalKafka, tmp_path: Path, start: Callable[..., CompletedProcess[str]]
) -> None:
    """The tables equal Kafka's own tools, for two readers, and a slot is written once."""
    warehouse = tmp_path / "lake"
    conf = tmp_path / "conf.toml"
    conf.write_text(f'warehouse = "{warehouse}"\n[kafka]\nbootstrap_servers = "{cluster.bootstrap_servers}"\n')
    slot = datetime.now(UTC).isoformat(timespec="seconds")
    printed = tools.group_offsets(cluster)
    done = start("snapshot", "--conf", str(conf), "--slot", slot)
    assert done.returncode == 0, done.stderr
    assert re.search(r"default \(\S+\): 3 brokers, .*\d+ topics, .* worst lag .*; tables in ", done.stdout)
    assert " WARN " not in done.stderr

    by_deltalake = rows(warehouse, "consumer_lag")
    # The share groups of other tests are in no list of this tool.
    shares = {r["group_id"] for r in rows(warehouse, "consumer_groups") if r["group_type"] == "share"}
    ours = {
        (
            r["group_id"],
            r["topic"],
            r["partition"],
            r["committed_offset"],
            r["high_watermark"],
            r["lag"],
            r["member_id"],
        )
        for r in by_deltalake
        if r["group_id"] not in shares
    }
    theirs = {
        (p.group_id, p.topic, p.partition, p.committed_offset, p.log_end_offset, p.lag, p.member_id) for p in printed
    }
    assert ours == theirs

    statement = "SELECT group_id, topic, partition, lag FROM lag_now ORDER BY 1, 2, 3"
    queried = lagoon("sql", "--warehouse", str(warehouse), "--json", statement)
    assert queried.returncode == 0, queried.stderr
    by_sql = {tuple(json.loads(line).values()) for line in queried.stdout.splitlines()}
    assert by_sql == {(r["group_id"], r["topic"], r["partition"], r["lag"]) for r in by_deltalake}

    shown = lagoon("lag", "--conf", str(conf), "--json", "--fail-above", "age=1h")
    assert (shown.returncode, shown.stderr) == (0, "")
    lines = [one for one in map(json.loads, shown.stdout.splitlines()) if one["kind"] == "lag"]
    assert {(r["group_id"], r["topic"], r["partition"], r["lag"]) for r in lines} == by_sql

    versions = {table.name: DeltaTable(str(table)).version() for table in warehouse.iterdir() if table.is_dir()}
    again = here("snapshot", "--conf", str(conf), "--slot", slot)
    assert again.returncode == 0, again.stderr
    assert "nothing to do" in again.stdout
    assert {name: DeltaTable(str(warehouse / name)).version() for name in versions} == versions
    assert len(rows(warehouse, "snapshots")) == 1


def test_a_snapshot_without_spark(tmp_path: Path) -> None:
    """`lagoon snapshot` into a local folder starts one JVM, which is not Spark's and starts no process itself.

    There are no executors, so the driver measures all positions.
    """
    started, folder, lake = tmp_path / "started", tmp_path / "bin", tmp_path / "lake"
    folder.mkdir()
    for name in ("java", "chmod", "readlink"):
        (folder / name).write_text(f'#!/bin/sh\necho {name} "$@" >> {started}\nexec {shutil.which(name)} "$@"\n')
        (folder / name).chmod(0o755)
    state = FakeCluster()
    state.add_topic("t", 3).partitions[0].append(timed(0, 1_000, 4))
    state.groups["g"] = FakeGroup(coordinator_id=1, commits={("t", 0): FakeCommit(1)})
    with fake_cluster(state):
        servers = ",".join(f"{host}:{port}" for host, port in state.addresses.values())
        kafka = ["--set", f"kafka.bootstrap_servers={servers}", "--set", "snapshot.time_lag_executor_positions=1"]
        path = os.pathsep.join((str(folder), str(BIN), os.environ["PATH"]))
        metrics = f"metrics.folder={tmp_path}"
        done = lagoon("snapshot", "--warehouse", str(lake), *kafka, "--set", metrics, PATH=path, JAVA_HOME="")
    assert done.returncode == 0, done.stderr
    (jvm,) = started.read_text().splitlines()
    assert jvm.startswith("java ")
    assert "py4j.GatewayServer" in jvm
    (lag,) = rows(lake, "consumer_lag", "lag", "time_lag_method", "first_unread_timestamp")
    assert lag == {"lag": 3, "time_lag_method": "exact", "first_unread_timestamp": datetime.fromtimestamp(1.01, UTC)}
    queried = here("sql", "--warehouse", str(lake), "--json", "SELECT lag FROM lag_now")
    assert (queried.returncode, json.loads(queried.stdout)) == (0, {"lag": 3}), queried.stderr
    samples = in_file(tmp_path / "lagoon-result-snapshot-default.prom")
    assert value(samples, "lagoon_group_lag", kafka_cluster="default", group="g") == 3
    assert here("metrics", "--warehouse", str(lake), "--out", str(tmp_path / "tables.txt")).returncode == 0
    of_run = {
        ("lagoon_last_success_timestamp_seconds", frozenset({("lagoon_job", "snapshot"), ("kafka_cluster", "default")}))
    }
    assert in_file(tmp_path / "tables.txt") == {key: samples[key] for key in samples.keys() - of_run}


@pytest.mark.proof
def test_two_at_once_publish_a_slot_once(cluster: LocalKafka, tmp_path: Path) -> None:
    """Of two runs with the same slot, with and without Spark, one publishes; the other gets exit 4, or finds it done (0)."""
    warehouse = tmp_path / "lake"
    arguments = ["--warehouse", str(warehouse), "--set", f"kafka.bootstrap_servers={cluster.bootstrap_servers}"]
    slot = datetime.now(UTC).isoformat(timespec="seconds")
    with ThreadPoolExecutor(2) as threads:
        runs = list(threads.map(lambda start: start("snapshot", *arguments, "--slot", slot), (submit, lagoon)))
    codes = sorted(one.returncode for one in runs)
    assert codes in ([0, 0], [0, 4]), [one.stderr for one in runs]
    assert sum("worst lag" in one.stdout for one in runs) == 1
    assert len(rows(warehouse, "snapshots")) == 1
    if codes == [0, 4]:
        refused = next(one for one in runs if one.returncode == 4)
        assert "nothing was written" in refused.stdout + refused.stderr  # spark-submit prints Python's stderr on stdout


@pytest.mark.usefixtures("spark")
def test_incomplete_is_written_and_exit_3(new_lake: Path, tmp_path: Path) -> None:
    """With a partition without a leader other rows are written, the tables name it, and several clusters are one run."""
    lake = shutil.copytree(new_lake, tmp_path / "lake")
    state = FakeCluster()
    state.add_topic("t", 3)
    state.topics["t"].partitions[1].leader_id = -1
    state.groups["g"] = FakeGroup(coordinator_id=1, commits={("t", p): FakeCommit(10) for p in range(3)})
    with fake_cluster(state):
        servers = ",".join(f"{host}:{port}" for host, port in state.addresses.values())
        done = here(
            *("snapshot", "--warehouse", str(lake)),
            *("--set", f"clusters.near.bootstrap_servers={servers}"),
            *("--set", f"clusters.same.bootstrap_servers={servers}"),
            *("--set", "clusters.far.bootstrap_servers=127.0.0.1:1"),
        )
    assert done.returncode == 3, done.stderr
    assert "127.0.0.1:1: connect: Connection refused" in done.stderr
    assert "near (fake): 3 brokers" in done.stdout
    assert "INCOMPLETE" in done.stdout
    assert done.stdout.index("near (fake)") < done.stdout.index("same (fake)")
    published = rows(lake, "snapshots")
    assert sorted((row["cluster"], row["status"]) for row in published) == [("near", "partial"), ("same", "partial")]
    lags = (row for row in rows(lake, "consumer_lag") if row["cluster"] == "near")
    lag = {row["partition"]: (row["lag"], row["problem"]) for row in lags}
    assert lag == {0: (90, None), 1: (None, "LEADER_NOT_AVAILABLE"), 2: (90, None)}
    with fake_cluster(state):
        servers = ",".join(f"{host}:{port}" for host, port in state.addresses.values())
        arguments = ("--warehouse", str(lake), "--set", f"kafka.bootstrap_servers={servers}")
        assert here("snapshot", *arguments).returncode == 3


@pytest.mark.usefixtures("spark")
def test_a_warehouse_that_cannot_be_written(cluster: LocalKafka, tmp_path: Path) -> None:
    """One line names the setting, the exit code is 2, and no file is left."""
    (tmp_path / "file").write_text("in the way")
    refused = here(
        *("snapshot", "--warehouse", str(tmp_path / "file" / "lake")),
        *("--set", f"kafka.bootstrap_servers={cluster.bootstrap_servers}"),
    )
    assert refused.returncode == 2, refused.stderr
    complaints = [line for line in refused.stderr.splitlines() if line.startswith("lagoon: ")]
    assert len(complaints) == 1
    assert complaints[0].startswith("lagoon: default: warehouse: ")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    first(
        [
            (["--set", "kafka.bootstrap_servers=127.0.0.1:1"], 1, "127.0.0.1:1: connect: Connection refused"),
            (["--set", "kafka.boostrap_servers=a:1"], 2, "did you mean bootstrap_servers?"),
            (["--set", "kafka.bootstrap_servers=a:1", "--slot", "someday"], 2, "--slot: 'someday' is not a time"),
            (
                ["--set", "kafka.bootstrap_servers=a:1", "--slot", "2020-01-01"],
                2,
                "only the current state of a cluster can be captured",
            ),
            (["--set", "kafka.bootstrap_servers=no-such-host.invalid:1"], 1, "resolve"),
            (["--frobnicate"], 2, "unrecognized arguments: --frobnicate"),
        ]
    ),
)
def test_bad_input_is_known_before_spark_starts(tmp_path: Path, arguments: list[str], code: int, expected: str) -> None:
    """One clear line, the right exit code, no traceback, no Spark, nothing written."""
    refused = lagoon("snapshot", "--warehouse", str(tmp_path / "lake"), *arguments)
    assert refused.returncode == code, refused.stderr
    assert expected in refused.stderr
    assert "Traceback" not in refused.stderr
    assert "incubator" not in refused.stderr  # the first output of a JVM
    assert not (tmp_path / "lake").exists()


@pytest.mark.parametrize(
    ("answer", "expected"), first([(b"HTTP/1.1 400\r\n\r\n", "HTTP, not Kafka"), (b"", "no answer within")])
)
def test_a_peer_that_is_no_broker(tmp_path: Path, answer: bytes, expected: str) -> None:
    """Another protocol, or a half open connection, ends at the deadline."""
    with peer(answer) as port:
        started = time.monotonic()
        refused = lagoon(
            *("snapshot", "--warehouse", str(tmp_path / "lake")),
            *("--set", f"kafka.bootstrap_servers=127.0.0.1:{port}"),
            *("--set", "kafka.socket_connection_setup_timeout_ms=1000"),
        )
        assert time.monotonic() - started < 30
    assert refused.returncode == 1
    assert expected in refused.stderr
    assert not (tmp_path / "lake").exists()
