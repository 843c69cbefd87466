"""`lagoon changes`: differences between the newest snapshot and the one before it."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from kafka_lagoon.cli.tables.changes import ENTITIES, TYPES
from kafka_lagoon.query import duckdb_engine
from kafka_lagoon.query.views import column_comments
from tests.cli.tables.conftest import Ask
from tests.clock import CLOCK
from tests.effort import first
from tests.query.views.worked_examples import lake_of_text

pytestmark = pytest.mark.long

DEFAULT = ("--cluster", "default")
EVERY = [
    ("removed", "topic", "gone", None, "G", None),
    ("changed", "partition", "orders-0", "isr", "[1, 2]", "[2]"),
    ("changed", "partition", "orders-0", "leader_id", "1", None),
    ("added", "topic", "new", None, None, "N"),
]

A_TOPIC_THAT_GROWS = """
== default
snapshots | captured_at | topics
1         | 10:00       | 1
2         | 10:10       | 2
3         | 10:20       | 2

coverage | api      | requests | visibility
1        | Metadata | 1        | complete
2        | Metadata | 1        | complete
3        | Metadata | 1        | complete

topics | topic | topic_id | partitions
1      | other | O        | 1
2      | other | O        | 2
2      | new   | N        | 1
3      | other | O        | 3
3      | new   | N        | 2
"""


def changes(ask: Ask, *argv: str) -> list[tuple[str | None, ...]]:
    names = ("change_type", "entity_type", "entity", "attribute", "old_value", "new_value")
    return [tuple(one[name] for name in names) for one in ask("changes", "--json", *argv).rows("change")]


def test_changes_of_the_newest_snapshot(ask: Ask) -> None:
    """Removals come before additions; rows have old and new values, and the snapshot that shows the change."""
    assert changes(ask, *DEFAULT) == EVERY
    lines = ask("changes", *DEFAULT).out.splitlines()
    assert lines[3].split() == ["change_type", "entity_type", "entity", "attribute", "old_value", "new_value"]
    assert lines[4].split() == ["removed", "topic", "gone", "-", "G", "-"]


def test_changes_since_a_time(ask: Ask) -> None:
    """Changes of every later snapshot, up to the one of --at; people see the times."""
    assert changes(ask, *DEFAULT, "--since", "2h ago") == EVERY
    assert changes(ask, *DEFAULT, "--since", "10m ago") == []
    assert changes(ask, *DEFAULT, "--since", "2025-11-21T14:00:00.122Z") == EVERY
    assert changes(ask, *DEFAULT, "--since", "2025-11-21T14:00:00.123Z") == []
    assert changes(ask, *DEFAULT, "--since", "5h ago", "--at", "1h ago") == []
    assert "2025-11-21T14:00:00.123Z  removed" in ask("changes", *DEFAULT, "--since", "2h ago").out


def test_the_changes_beyond_a_limit_are_counted_as_they_come(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """The view is asked once: it costs more than its rows."""
    statements: list[str] = []

    def run(connection: duckdb.DuckDBPyConnection, statement: str, values: Sequence[Any]) -> pa.RecordBatchReader:
        statements.append(statement)
        return as_it_is(connection, statement, values)

    as_it_is = duckdb_engine._run
    monkeypatch.setattr(duckdb_engine, "_run", run)
    lines = ask("changes", *DEFAULT, "-n", "1").out.splitlines()
    assert "and 3 more" in lines
    assert sum("topology_changes" in statement for statement in statements) == 1


def test_an_entity_comes_after_its_attributes_in_spark_too(
    tmp_path: Path, run: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark has nulls first unless the order says otherwise, and -n shows the first rows: of an attribute the newest."""
    as_it_is = duckdb_engine._connect

    def connect_with_order_of_spark() -> duckdb.DuckDBPyConnection:
        connection = as_it_is()
        connection.execute("SET default_null_order = 'nulls_first_on_asc_last_on_desc'")
        return connection

    monkeypatch.setattr(duckdb_engine, "_connect", connect_with_order_of_spark)
    now_ms = round(datetime(2026, 11, 20, 10, 30, tzinfo=UTC).timestamp() * 1000)
    monkeypatch.setattr("kafka_lagoon.clock.SYSTEM_CLOCK", replace(CLOCK, now_ms=lambda: now_ms))
    lake = lake_of_text(tmp_path, A_TOPIC_THAT_GROWS)
    shown = run("changes", "--json", "--since", "2026-11-20", "--sort", "name", "--warehouse", str(lake))
    assert [(row["change_type"], row["attribute"], row["new_value"]) for row in shown.rows("change")] == [
        ("changed", "partitions", "2"),
        ("added", None, "N"),
        ("changed", "partitions", "3"),
        ("changed", "partitions", "2"),
    ]


@pytest.mark.parametrize(
    ("filters", "left"),
    first(
        [
            (("--topic", "orders"), EVERY[1:3]),
            (("--type", "removed,added"), [EVERY[0], EVERY[3]]),
            (("--entity", "partition", "--number", "1"), EVERY[1:2]),
            (("--pattern", "(?!o)\\w{,4}"), [EVERY[0], EVERY[3]]),
            (("--group", "billing"), []),
            (("--sort", "name"), [EVERY[1], EVERY[2], EVERY[0], EVERY[3]]),
            (("--at", "2025-11-21T13:30"), []),
        ],
        4,
    ),
)
def test_filters(ask: Ask, filters: tuple[str, ...], left: list[tuple[str | None, ...]]) -> None:
    """A change must match all filters."""
    assert changes(ask, *DEFAULT, *filters) == left


@pytest.mark.parametrize(
    ("limits", "line"),
    first(
        [
            ("changes=4,truncated", None),
            ("changes=3", "changes above 3: 4 changes (partition orders-0)"),
            ("removed", "removed above 0: 1 change (topic gone)"),
            ("partition=1", "partition above 1: 2 changes (partition orders-0)"),
        ],
        2,
    ),
)
def test_a_passed_limit_is_exit_3(ask: Ask, limits: str, line: str | None) -> None:
    """Limits apply to all changes, to changes of one type, or to one type of entity."""
    shown = ask("changes", *DEFAULT, "--fail-above", limits)
    assert (shown.code, shown.err) == ((3, f"lagoon: {line}\n") if line else (0, ""))


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        (("--type", "remvoed"), f"--type: remvoed: there are {', '.join(TYPES)}; see"),
        (("--type", "Config,x"), f"--type: Config, x: there are {', '.join(TYPES)}; --entity takes Config; see"),
        (("--entity", "added"), f"--entity: added: there are {', '.join(ENTITIES)}; --type takes added; see"),
        (("--entity", "topic,topics"), f"--entity: topics: there are {', '.join(ENTITIES)}; see"),
        (("--between", "a,b", "--entity", "topics"), f"--entity: topics: there are {', '.join(ENTITIES)}; see"),
        (
            ("--type", "removed,added", "--fail-above", "changed"),
            "--fail-above changed: --type removed,added leaves it out",
        ),
        (("--entity", "topic", "--fail-above", "acl=3"), "--fail-above acl: --entity topic leaves it out"),
        (("--entity", "topic", "--fail-above", "truncated"), "--fail-above truncated: --entity topic leaves it out"),
        (("--type", "truncated", "--fail-above", "topic"), "--fail-above topic: --type truncated leaves it out"),
        (
            ("--type", "recreated", "--entity", "acl,group", "--fail-above", "changes"),
            "--fail-above changes: --type recreated with --entity acl,group leaves it out",
        ),
    ],
)
def test_a_limit_that_no_change_could_pass(ask: Ask, argv: tuple[str, ...], line: str) -> None:
    """A misspelt name, and a limit on what the options leave out, are refused in one line: each limit would be kept."""
    shown = ask("changes", *argv)
    assert (shown.code, shown.out, shown.err.count("\n")) == (2, "", 1)
    assert shown.err.startswith(f"lagoon: {line}")


@pytest.mark.parametrize("since", [(), ("--since", "2h ago")])
def test_a_name_that_is_not_there(ask: Ask, since: tuple[str, ...]) -> None:
    """A line reports a topic or group that has neither a row in the snapshot nor a change, with exit 3."""
    shown = ask("changes", *DEFAULT, *since, "--topic", "gone,orders,ordres")
    assert (shown.code, shown.err) == (3, "lagoon: topic ordres: not in the snapshot\n")
    shown = ask("changes", *DEFAULT, *since, "--group", "billing,biling", "--fail-above", "changes")
    assert (shown.code, shown.err) == (3, "lagoon: group biling: not in the snapshot\n")


def test_names_are_those_of_the_view() -> None:
    """Exactly the types of changes and entities that the view documents can be selected and limited."""
    comments = column_comments("topology_changes")
    types = re.sub(r" \([^)]*\)", "", comments["change_type"]).removesuffix(".")
    assert set(types.replace(" or ", ", ").split(", ")) == set(TYPES)
    listed = comments["entity_type"].removeprefix("Type of the changed entity: ").partition(" (")[0]
    assert tuple(listed.replace(" or ", ", ").split(", ")) == ENTITIES
