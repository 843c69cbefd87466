"""Access of executors to brokers and warehouse, and their differences from the driver; on local executors of Spark."""

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kafka_lagoon.doctor.connections import bootstrap_servers
from kafka_lagoon.doctor.executors import Probe, Report, of_report, on_spark
from kafka_lagoon.doctor.results import Check
from tests.fake.broker import FakeBroker
from tests.fake.cluster import FakeCluster
from tests.short_timeouts import short_timeouts

pytestmark = pytest.mark.spark


@pytest.mark.usefixtures("spark")
def test_on_spark(state: FakeCluster, brokers: dict[int, FakeBroker], tmp_path: Path) -> None:
    """Session, warehouse, and one machine that reaches all brokers and the folder; no file is left there."""
    kafka = short_timeouts(state)
    probe = Probe(kafka={"prod": kafka}, servers={"prod": bootstrap_servers(kafka)})
    results = list(on_spark(str(tmp_path), probe, None))
    assert [(one.check, one.status) for one in results] == [
        ("session", "ok"),
        ("warehouse", "ok"),
        ("executor", "ok"),
        ("executor", "ok"),
    ]
    assert results[-1].observed.count("prod: bootstrap server") == len(brokers) == 3
    assert results[-1].observed.endswith(f"file:{tmp_path}")
    assert list(tmp_path.iterdir()) == []


def test_what_executors_do_not_reach(spark: SparkSession, state: FakeCluster, tmp_path: Path) -> None:
    """Each failure names the machine; a warehouse that the driver does not reach either is reported once."""
    assert spark
    state.addresses = {1: ("127.0.0.1", 1)}
    kafka = short_timeouts(state)
    probe = Probe(kafka={"prod": kafka}, servers={"prod": bootstrap_servers(kafka)})
    (tmp_path / "file").touch()
    results = list(on_spark(str(tmp_path / "file" / "lake"), probe, None))
    failed = [(one.check, one.observed.partition(" ")[0]) for one in results if one.status == "failed"]
    assert ("connection", "connect:") in failed
    assert "warehouse" in {check for check, _ in failed}
    assert all(one.subject.startswith("executor ") for one in results if one.check == "connection")


def test_another_version_on_an_executor() -> None:
    """The result names both versions and the way to install the right one."""
    (ours,) = of_report(Report(host="worker", version="0.0.1", python="3.9.1", results=()))
    assert ours.status == "failed"
    assert ours.observed.startswith("Kafka Lagoon 0.0.1 on Python 3.9.1; the driver has ")
    assert "pack-environment.sh" in str(ours.to_do)
    bad = replace(Check("connection", "prod: broker 1").failed("connect: refused"), to_do="look")
    last = list(of_report(Report(host="worker", version="0.0.1", python="3.9.1", results=[bad])))[-1]
    assert (last.subject, last.to_do) == ("executor worker: prod: broker 1", "look")
