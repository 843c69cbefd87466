"""The permissions of jobs that read and write records, on a real broker, are sufficient and necessary."""

import subprocess
from pathlib import Path

import pytest
from confluent_kafka.admin import NewTopic
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from kafka_lagoon.admin.permissions import Permission
from kafka_lagoon.notebooks import register_source
from kafka_lagoon.protocol.acls import DESCRIBE, TOPIC, TRANSACTIONAL_ID, WRITE
from tests.clock import CLOCK
from tests.integration.least_permissions import Place
from tests.integration.secured import Secured
from tests.integration.state import create_topics, produce
from tests.jobs import commands
from tests.permissions import REQUIRED_PERMISSIONS

ORDERS, SINK, RECORDS = "least-archived", "least-sink", 20
# As in docs/spark.md for `df.write.format("lagoon")`.
_SINK = (Permission(WRITE, TOPIC, "refused"), Permission(WRITE, TRANSACTIONAL_ID, "refused"))


@pytest.fixture(scope="module")
def place(secured: Secured) -> Place:
    """Make a topic with records, and a topic to write to."""
    place = Place(secured)
    place.make_user()
    create_topics(place.plain, [NewTopic(ORDERS, 2, 1), NewTopic(SINK, 1, 1)])
    produce(place.plain, ORDERS, RECORDS)
    return place


@pytest.mark.proof
@pytest.mark.usefixtures("spark")
def test_permissions_of_an_ingest_are_enough_and_least(place: Place, tmp_path: Path) -> None:
    """With READ on a topic all its records are archived, and a pattern matches no other topic. Without it
    nothing is archived, and the exit code says so.
    """
    (permission,) = REQUIRED_PERMISSIONS["ingest"].permissions
    with place.granted([permission], ORDERS):
        whole = _ingested(place, tmp_path / "whole", "--pattern", "least-.*")
    assert whole.returncode == 0, whole.stdout + whole.stderr
    archived = commands.rows(tmp_path / "whole", "records", "topic")
    assert archived == [{"topic": ORDERS}] * RECORDS
    with place.granted([]):
        lacking = _ingested(place, tmp_path / "none", "--topics", ORDERS)
    assert lacking.returncode == 3
    *_, refused, acl = lacking.stdout.splitlines()
    assert refused == f"default: topic {ORDERS}: TOPIC_AUTHORIZATION_FAILED"
    assert acl.startswith(f"default: READ on Topic is missing on {ORDERS}: `lagoon permissions --for ingest ")
    with place.granted([Permission(DESCRIBE, TOPIC, "")]):  # the pattern matches the topic then
        seen = _ingested(place, tmp_path / "seen", "--pattern", ORDERS)
    assert seen.returncode == 3
    assert "TOPIC_AUTHORIZATION_FAILED in 2 ranges" in seen.stdout
    assert acl in seen.stdout.splitlines()


@pytest.mark.proof
def test_permissions_of_a_comparison_are_enough_and_least(place: Place) -> None:
    """With READ on a topic all its records are compared; without it none, as the exit code shows."""
    (permission,) = REQUIRED_PERMISSIONS["compare"].permissions
    command = ["compare", f"default:{ORDERS}", f"default:{ORDERS}", *place.options()]
    with place.granted([permission], ORDERS):
        whole = commands.here(*command)
    assert whole.returncode == 0, whole.stdout + whole.stderr
    assert f"{RECORDS} records" in whole.stdout
    with place.granted([]):
        lacking = commands.here(*command)
    assert lacking.returncode == 1
    assert "TOPIC_AUTHORIZATION_FAILED" in lacking.stderr


@pytest.mark.proof
@pytest.mark.usefixtures("spark")
def test_permissions_of_a_restore_are_enough_and_least(place: Place, tmp_path: Path) -> None:
    """With all of them an existing topic gets its records, which are read back; without one of them it is incomplete."""
    permissions = REQUIRED_PERMISSIONS["restore"].permissions
    by_super_user = [
        "--warehouse",
        str(tmp_path),
        "--topics",
        ORDERS,
        "--set",
        f"kafka.bootstrap_servers={place.plain}",
    ]
    assert commands.here("ingest", *by_super_user).returncode == 0
    for left_out in (None, *permissions):
        with place.granted([one for one in permissions if one is not left_out], ORDERS):
            done = _restored(place, tmp_path)
        assert (done.returncode == 0) == (left_out is None), done.stdout + done.stderr


def _restored(place: Place, warehouse: Path) -> subprocess.CompletedProcess[str]:
    options = ["--from-cluster", "default", "--to-cluster", "default", "--topics", ORDERS, "--into-existing", "--new"]
    return commands.here("restore", "--yes", "--warehouse", str(warehouse), *options, *place.options())


def _ingested(place: Place, warehouse: Path, *topics: str) -> subprocess.CompletedProcess[str]:
    return commands.here("ingest", "--warehouse", str(warehouse), *topics, *place.options())


@pytest.mark.proof
@pytest.mark.parametrize("transactions", ["none", "run"])
def test_permissions_of_the_sink_are_enough_and_least(place: Place, spark: SparkSession, transactions: str) -> None:
    """With those in docs/spark.md executors authenticate and write rows; without one of them the job fails."""
    register_source(spark)
    needed = [one for one in _SINK if transactions == "run" or one.resource_type == TOPIC]
    with place.granted(needed):
        _write(place, spark, transactions)
    for permission in needed:
        rest = [one for one in needed if one is not permission]
        with place.granted(rest), pytest.raises(PySparkException, match=r"AUTHORIZATION_FAILED"):
            _write(place, spark, transactions)


def _write(place: Place, spark: SparkSession, transactions: str) -> None:
    options = {f"kafka.{name.replace('_', '.')}": str(value) for name, value in place.settings.items()}
    if transactions == "run":
        options["kafka.transactional.id"] = f"{SINK}-{CLOCK.now_ms()}"
    rows = spark.range(3).selectExpr("CAST(id AS STRING) AS value").coalesce(1)
    writer = rows.write.format("lagoon").mode("append").options(**options, topic=SINK, transactions=transactions)
    writer.save()
