"""What `lagoon kafka` prints as null or as a dash has its reason, in every verb."""

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from kafka_lagoon.cli.kafka import output, verb
from kafka_lagoon.cli.kafka.run import VERBS
from kafka_lagoon.cli.kafka.verb import Answer, Context, Part
from kafka_lagoon.snapshot.coverage import coverage_rows
from kafka_lagoon.tables.schema import STATE_TABLES
from kafka_lagoon.tables.snapshot_rows import CoverageRow
from tests.cli.kafka.conftest import Ask
from tests.fake.cluster import FakeCluster
from tests.fake.oddities import ODDITIES, every_shape
from tests.nulls import plain_table, unexplained

pytestmark = pytest.mark.long

# Those that print rows with declared columns; records and what was produced have formats of their own.
COMMANDS = (
    *("versions", "metadata", "health", "offsets", "groups", "describe-group", "lag", "acls", "log-dirs"),
    *(
        "quorum",
        "reassignments",
        "transactions",
        "configs topic",
        "configs topic --all",
        "offsets --at 2100-01-01",
        "offsets --at 0",
    ),
)
_TABLES = {table.row: table.name for table in STATE_TABLES}


@dataclass(slots=True)
class Seen:
    """The parts of an answer that were shown, and what the brokers were asked for them."""

    parts: list[Part] = field(default_factory=list)
    clusters: list[Any] = field(default_factory=list)

    def unexplained(self) -> list[str]:
        """Columns of the rows that are null and do not say why."""
        trusted = dict.fromkeys(("ListGroups", "Metadata", "OffsetFetch", "ListTransactions"), "unknown")
        rows: dict[type[Any], list[Any]] = {
            CoverageRow: list(coverage_rows(self.clusters[-1].request_stats, trusted, {}, {}))
        }
        for part in self.parts:
            for row in part.rows:
                rows.setdefault(type(row), []).append(row)
        return unexplained(
            {_TABLES.get(cls, cls.__name__): (cls, plain_table(cls, some)) for cls, some in rows.items()}
        )

    def unknown_columns(self) -> list[str]:
        """Columns for people, also with --wide, that rows do not have."""
        return [
            f"{part.kind}.{name}"
            for part in self.parts
            for name in (*part.columns, *part.wide)
            if not all(hasattr(row, name) for row in part.rows)
        ]

    def without_problem(self) -> list[str]:
        """Kinds of rows whose problem people are not shown."""
        return [
            part.kind
            for part in self.parts
            if any(hasattr(one, "problem") for one in part.rows) and "problem" not in part.columns
        ]


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    """Keeps what verbs show."""
    seen, show = Seen(), output.show

    def keep(answer: Answer, *, as_json: bool, wide: bool) -> int:
        seen.parts = [replace(part, rows=list(part.rows)) for part in answer.parts]
        return show(replace(answer, parts=seen.parts), as_json=as_json, wide=wide)

    def connected(**fields: Any) -> Context:
        seen.clusters.append(fields["cluster"])
        return Context(**fields)

    monkeypatch.setattr(output, "show", keep)
    monkeypatch.setattr(verb, "Context", connected)
    return seen


SHOWN = (
    ("odd offsets", "no racks, no controller, odd types of groups", "a broker that is not described, odd members"),
    ("a topic that is hidden, settings that are refused", "no description of the cluster, nor of groups"),
    ("brokers before Kafka 1.0",),
)


@pytest.mark.parametrize("odd", SHOWN)
def test_no_null_without_a_reason(odd: tuple[str, ...], state: FakeCluster, ask: Ask, seen: Seen) -> None:
    """In JSON and for people, who are shown the problem where rows have one."""
    shape = every_shape()
    state.topics, state.groups, state.racks = shape.topics, shape.groups, shape.racks
    for oddity in odd:
        ODDITIES[oddity](state)
    without_reason = {}
    for words in COMMANDS:
        seen.parts = []
        ask(*words.split(), "--json")
        if lines := [*seen.unexplained(), *seen.without_problem(), *seen.unknown_columns()]:
            without_reason[words] = lines
    assert without_reason == {}


def test_every_verb_is_run() -> None:
    """A new verb is run here too, unless it is known to have rows of its own."""
    assert {words.split()[0] for words in COMMANDS} == VERBS.keys() - {"fetch", "produce"}


def test_a_time_after_the_end(ask: Ask) -> None:
    """That no record is as late has a name, and is no failure."""
    shown = ask("offsets", "--topic", "orders", "--at", "2100-01-01", "--json")
    assert (shown.code, shown.err) == (0, "")
    assert {(one["offset"], one["problem"]) for one in shown.rows("partition")} == {(None, "NO_LATER_RECORD")}


@pytest.mark.parametrize(("coordinator", "line"), [(1, "(none)"), (None, "(none known)")])
def test_that_there_is_nothing_is_said_only_if_it_is_known(
    state: FakeCluster, ask: Ask, coordinator: int | None, line: str
) -> None:
    """Not above a failure that says that nobody answered."""
    if coordinator is None:
        ODDITIES["lists of groups that fail"](state)
    assert ask("groups", "--timeout", "0.3").out == f"{line}\n"
