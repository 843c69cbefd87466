"""After a run was killed at any step its rows are true: actions that they call done are done, and changes are recorded."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from signal import SIGKILL

import pytest
from confluent_kafka.admin import ConfigResource, NewTopic, ResourceType

from kafka_lagoon.query import duckdb_engine
from tests.integration import every_broker
from tests.integration.administered import Administered
from tests.integration.state import create_topics

Point = tuple[str, str, int, str]

SOME: list[Point] = [
    ("AdminActions", "write", 1, "after"),  # all actions are recorded, none is sent
    ("AdminActions", "write", 2, "before"),  # topics are created, without a second row
    ("AdminActions", "write", 3, "after"),  # nothing is deleted yet
]
MANY: list[Point] = [
    *(("AdminActions", "write", count, when) for count in (1, 2, 3, 4) for when in ("before", "after")),
    *(("Kernel", "append", count, when) for count in (1, 2, 3, 4) for when in ("before", "after")),
    *(("Transport", "exchange", count, when) for count in range(1, 31, 2) for when in ("before", "after")),
]
_COUNTED = iter(range(1000))


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse for all runs: tables are made once, and dead runs do not block others."""
    return tmp_path_factory.mktemp("dying")


@pytest.fixture
def prefix(administered: Administered) -> Iterator[str]:
    """Return the prefix of two existing and two new topics."""
    name = f"dying-{next(_COUNTED)}"
    create_topics(administered.bootstrap_servers, [NewTopic(f"{name}-{role}", 1, 1) for role in ("old", "kept")])
    yield name
    left = [topic for topic in administered.admin.list_topics(timeout=30).topics if topic.startswith(f"{name}-")]
    for future in administered.admin.delete_topics(left, operation_timeout=30).values():
        future.result(30)


def run(administered: Administered, warehouse: Path, prefix: str, point: Point) -> int:
    """Return the exit code of a run that dies at this step."""
    words = [administered.bootstrap_servers, str(warehouse), prefix, *map(str, point)]
    command = [sys.executable, "-m", "tests.integration.dying_alteration", *words]
    return subprocess.run(command, check=False, timeout=120).returncode


def changed(administered: Administered, prefix: str) -> dict[str, bool]:
    """Return, by resource, True if the cluster has its planned state."""
    topics = administered.admin.list_topics(timeout=30).topics
    resource = ConfigResource(ResourceType.TOPIC, f"{prefix}-kept")
    (described,) = administered.admin.describe_configs([resource]).values()
    return {
        **{f"{prefix}-new-{number}": f"{prefix}-new-{number}" in topics for number in range(2)},
        f"{prefix}-kept": described.result(30)["max.message.bytes"].value == "4321",
        f"{prefix}-old": f"{prefix}-old" not in topics,
    }


def outcomes(warehouse: Path, prefix: str) -> dict[str, str]:
    """Return the outcome of each resource in the table."""
    statement = "SELECT resource_name, outcome FROM admin_outcomes WHERE starts_with(resource_name, ?)"
    with duckdb_engine.opened(warehouse, {"admin_outcomes"}) as ask:
        result = ask(statement, f"{prefix}-")
        return {row["resource_name"]: row["outcome"] for batch in result.batches for row in batch.to_pylist()}


def check_point(administered: Administered, warehouse: Path, prefix: str, point: Point) -> tuple[dict[str, str], int]:
    """Let a run die at this step, and compare the table with the cluster."""
    exit_code = run(administered, warehouse, prefix, point)
    assert exit_code in (0, -SIGKILL)
    said = outcomes(warehouse, prefix)
    # Brokers learn late what the controller has done.
    done = {name for name, outcome in said.items() if outcome == "done"}
    every_broker.wait_until(
        lambda: all(is_changed for name, is_changed in changed(administered, prefix).items() if name in done)
    )
    is_changed = changed(administered, prefix)
    assert set(said) in (set(), set(is_changed))
    for name, was_changed in is_changed.items():
        assert said.get(name, "unrecorded") in (("done", "unknown") if was_changed else ("unknown", "unrecorded"))
    return said, exit_code


@pytest.mark.parametrize(
    "point", [SOME[0], *(pytest.param(point, marks=pytest.mark.proof) for point in SOME[1:])], ids=str
)
def test_rows_are_true(administered: Administered, warehouse: Path, prefix: str, point: Point) -> None:
    """This holds between all rows and requests."""
    said, exit_code = check_point(administered, warehouse, prefix, point)
    assert exit_code == -SIGKILL
    assert [said[f"{prefix}-{role}"] for role in ("new-0", "kept", "old")] == {
        1: ["unknown"] * 3,
        2: ["unknown"] * 3,
        3: ["done", "done", "unknown"],
    }[point[2]]


@pytest.mark.proof
@pytest.mark.parametrize("point", MANY, ids=str)
def test_rows_are_true_wherever_a_run_dies(
    administered: Administered, warehouse: Path, prefix: str, point: Point
) -> None:
    """This holds at every write, commit and exchange with a broker; and the next run succeeds."""
    check_point(administered, warehouse, prefix, point)
