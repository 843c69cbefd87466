"""Every null or dash that `lagoon kafka` prints has a reason, in every verb."""

from argparse import Namespace
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from kafka_lagoon.cli.kafka import command
from kafka_lagoon.cli.kafka.command import ClusterContext
from kafka_lagoon.cli.output import CommandOutput, RowSet, show
from kafka_lagoon.cli.registry import names_of
from kafka_lagoon.snapshot.coverage import coverage_rows
from kafka_lagoon.snapshot.visibility import LISTED_TYPES
from kafka_lagoon.tables.schema import STATE_TABLES
from kafka_lagoon.tables.snapshot_rows import CoverageRow
from tests.cli.kafka.conftest import Ask
from tests.fake.cluster import FakeCluster
from tests.fake.oddities import ODDITIES, every_shape
from tests.nulls import plain_table, unexplained

pytestmark = pytest.mark.long

# Verbs that print rows with declared columns; records and written records have formats of their own.
COMMANDS = (
    *(name for name in names_of("kafka") if name not in ("configs", "fetch", "produce")),
    *("configs topic", "configs topic --all", "offsets --at 2100-01-01", "offsets --at 0"),
)
_TABLES = {table.row: table.name for table in STATE_TABLES}


@dataclass(slots=True)
class Seen:
    """Printed rows, and the clusters that they are from."""

    sets: list[RowSet] = field(default_factory=list)
    clusters: list[Any] = field(default_factory=list)

    def unexplained(self) -> list[str]:
        """Return columns of the rows that are null without a reason."""
        trusted = dict.fromkeys(("ListGroups", "DescribeDelegationToken", *LISTED_TYPES), "unknown")
        rows: dict[type[Any], list[Any]] = {
            CoverageRow: list(coverage_rows(self.clusters[-1].request_stats, trusted, {}, {}))
        }
        for shown in self.sets:
            for row in shown.rows:
                rows.setdefault(type(row), []).append(row)
        return unexplained(
            {_TABLES.get(cls, cls.__name__): (cls, plain_table(cls, some)) for cls, some in rows.items()}
        )

    def unknown_columns(self) -> list[str]:
        """Return columns for people, also of --wide, that the rows do not have."""
        return [
            f"{shown.kind}.{name}"
            for shown in self.sets
            for name in (*shown.columns, *shown.wide)
            if not all(hasattr(row, name) for row in shown.rows)
        ]

    def without_problem(self) -> list[str]:
        """Return kinds of rows whose problem is not shown to people."""
        return [
            shown.kind
            for shown in self.sets
            if any(hasattr(one, "problem") for one in shown.rows) and "problem" not in shown.columns
        ]


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    """Collects the rows that verbs print."""
    seen = Seen()

    def keep(output: CommandOutput, options: Namespace) -> int:
        seen.sets = [replace(one, rows=list(one.rows)) for one in output.rows if isinstance(one, RowSet)]
        return show(replace(output, rows=seen.sets), options)

    def connected(**fields: Any) -> ClusterContext:
        seen.clusters.append(fields["cluster"])
        return ClusterContext(**fields)

    monkeypatch.setattr(command, "show", keep)
    monkeypatch.setattr(command, "ClusterContext", connected)
    return seen


SHOWN = (
    ("odd offsets", "no racks, no controller, odd types of groups", "a broker that is not described, odd members"),
    ("a topic that is hidden, settings that are refused", "no description of the cluster, nor of groups"),
    ("brokers before Kafka 1.0",),
)


@pytest.mark.parametrize("odd", SHOWN)
def test_no_null_without_a_reason(odd: tuple[str, ...], state: FakeCluster, ask: Ask, seen: Seen) -> None:
    """JSON has a reason for each null, and people see the problem if rows have one."""
    shape = every_shape()
    state.topics, state.groups, state.racks = shape.topics, shape.groups, shape.racks
    for oddity in odd:
        ODDITIES[oddity](state)
    without_reason = {}
    for words in COMMANDS:
        seen.sets = []
        ask(*words.split(), "--json")
        if lines := [*seen.unexplained(), *seen.without_problem(), *seen.unknown_columns()]:
            without_reason[words] = lines
    assert without_reason == {}


def test_a_time_after_the_end(ask: Ask) -> None:
    """A missing later record has a name, and is no failure."""
    shown = ask("offsets", "--topic", "orders", "--at", "2100-01-01", "--json")
    assert (shown.code, shown.err) == (0, "")
    assert {(one["offset"], one["problem"]) for one in shown.rows("partition")} == {(None, "NO_LATER_RECORD")}


@pytest.mark.parametrize(("coordinator", "line"), [(1, "(none)"), (None, "(none known)")])
def test_that_there_is_nothing_is_said_only_if_it_is_known(
    state: FakeCluster, ask: Ask, coordinator: int | None, line: str
) -> None:
    """The text for no rows is not printed above a failure."""
    if coordinator is None:
        ODDITIES["lists of groups that fail"](state)
    assert ask("groups", "--timeout", "0.3").out == f"{line}\n"
