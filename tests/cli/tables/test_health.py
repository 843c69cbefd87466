"""`lagoon health`: findings of the newest snapshot."""

import re
from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from kafka_lagoon.cli.tables.command import Condition, TablesContext
from kafka_lagoon.cli.tables.health import _FINDINGS, FINDINGS, SEVERITIES
from kafka_lagoon.cli.tables.limits import count_lines
from kafka_lagoon.cli.thresholds import Threshold, Unit
from kafka_lagoon.query.statements import Rows
from kafka_lagoon.query.views import VIEWS, column_comments
from kafka_lagoon.snapshot.min_isr import MIN_ISR_NOT_RETURNED
from kafka_lagoon.tables.cluster_rows import BrokerRow, PartitionRow, TopicRow
from kafka_lagoon.tables.snapshot_rows import CoverageRow
from tests.cli.tables.conftest import Ask, Shown
from tests.delta.lake import make_lake
from tests.delta.samples import row, snapshot
from tests.effort import first

pytestmark = pytest.mark.long

DEFAULT = ("--cluster", "default")
WORST = ["leaderless", "under_min_isr", "under_replicated"]


def test_the_worst_stands_first(ask: Ask) -> None:
    """Critical findings come first, then older ones; rows have the snapshot in which each began, and there are counts."""
    shown = ask("health", *DEFAULT, "--json")
    assert shown.code == 0
    assert [(one["finding"], one["entity"]) for one in shown.rows("finding")] == [(name, "orders-0") for name in WORST]
    assert {one["since"] for one in shown.rows("finding")} == {"2025-11-21T14:00:00.123Z"}
    assert [(one["finding"], one["count"]) for one in shown.rows("count")] == [(name, 1) for name in WORST]
    lines = ask("health", *DEFAULT).out.splitlines()
    assert lines[0] == "default: snapshot of 2025-11-21T14:00:00.123Z, 11m old"
    assert lines[-1].startswith(
        "Lag and lost records of groups, and consumers that stand still, are not looked at here: see"
    )
    assert len(ask("health", *DEFAULT, "--json").out.splitlines()) == 1 + 2 * len(WORST)


def test_people_see_a_partition_once(ask: Ask) -> None:
    """Findings of an entity that began together are one row with the worst severity; --wide, scripts and limits have each."""
    lines = ask("health", *DEFAULT).out.splitlines()
    begin = lines.index("finding:")
    assert [line.split()[:5] for line in lines[begin + 2 : -2]] == [
        ["critical", "leaderless,", "under_min_isr,", "under_replicated", "orders-0"]
    ]
    lines = ask("health", *DEFAULT, "--wide").out.splitlines()
    assert [line.split()[1] for line in lines[lines.index("finding:") + 2 : -2]] == WORST


def test_brokers_come_before_their_partitions(tmp_path: Path, run: Callable[..., Shown]) -> None:
    """A fenced broker is the cause of the findings of its partitions, and has the same severity; -n says what it leaves out."""
    partitions = [
        row(
            PartitionRow,
            topic="orders",
            topic_id="O",
            partition=number,
            leader_id=1,
            replicas=(1, 2),
            isr=(1,),
            offline_replicas=(2,),
            is_leaderless=False,
            is_under_replicated=True,
            is_under_min_isr=False,
            is_at_min_isr=True,
            is_preferred_leader=True,
        )
        for number in range(3)
    ]
    brokers = [row(BrokerRow, broker_id=number, is_fenced=number == 2) for number in (1, 2)]
    coverage = row(CoverageRow, api="Metadata", requests=1, answered=1, expected=1, visibility="complete")
    make_lake(tmp_path, (snapshot(1, *partitions, *brokers, coverage, status="complete"),))
    lines = run("health", "-n", "2", "--warehouse", str(tmp_path)).out.splitlines()
    kinds = [line.split()[0] for line in lines[lines.index("count:") + 2 : lines.index("finding:") - 1]]
    assert kinds == ["broker_fenced", "at_min_isr", "offline_replicas", "under_replicated"]
    shown = [line.split()[1:5] for line in lines[lines.index("finding:") + 2 : -3]]
    assert [one[0] for one in shown] == ["broker_fenced", "at_min_isr,"]
    assert shown[1] == ["at_min_isr,", "offline_replicas,", "under_replicated", "orders-0"]
    assert lines[-3] == "and 2 more"


def test_no_row_is_no_good_news(ask: Ask) -> None:
    """With -n 0 only the numbers of rows are printed."""
    lines = ask("health", *DEFAULT, "-n", "0").out.splitlines()
    assert lines[lines.index("finding:") + 1] == "1 row not shown"
    none = ask("health", *DEFAULT, "-n", "0", "--topic", "new").out.splitlines()
    assert none[none.index("finding:") + 1] == "(none)"


def test_limits_of_groups_have_another_command(ask: Ask) -> None:
    """Who asks health about lost records is sent to the command that knows them."""
    shown = ask("health", "--fail-above", "critical,lost")
    assert shown.code == 2
    assert "lost: is a limit of another command: lagoon lag --fail-above lost; see" in shown.err


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        (("--only", "leaderles"), "--only: leaderles: there are critical, warning, info, leaderless, "),
        (("--only", "warning", "--fail-above", "critical"), "--fail-above critical: --only warning leaves it out"),
        (("--only", "info", "--fail-above", "leaderless"), "--fail-above leaderless: --only info leaves it out"),
    ],
)
def test_a_limit_that_no_finding_could_pass(ask: Ask, argv: tuple[str, ...], line: str) -> None:
    """A misspelt name, and a limit on what --only leaves out, are refused in one line: each limit would be kept."""
    shown = ask("health", *argv)
    assert (shown.code, shown.out, shown.err.count("\n")) == (2, "", 1)
    assert line in shown.err


def test_a_named_topic_that_is_not_there(ask: Ask) -> None:
    """A line reports it, with exit 3; a topic without findings is an answer."""
    for limits in ((), ("--fail-above", "critical")):
        shown = ask("health", *DEFAULT, "--topic", "new,ordres", *limits)
        assert (shown.code, shown.err) == (3, "lagoon: topic ordres: not in the snapshot\n")
    assert ask("health", *DEFAULT, "--topic", "new", "--fail-above", "findings").code == 0


def test_a_limit_on_a_part_of_what_is_shown(ask: Ask) -> None:
    """--only may name the severity of a limited finding, or a finding of a limited severity."""
    assert ask("health", *DEFAULT, "--only", "critical", "--fail-above", "leaderless").code == 3
    assert ask("health", *DEFAULT, "--only", "under_min_isr", "--fail-above", "critical,findings,age=1h").code == 3
    assert ask("health", *DEFAULT, "--only", "info", "--fail-above", "stopped_group").code == 0


@pytest.mark.parametrize(
    ("filters", "left"),
    first(
        [
            (("--only", "warning,leaderless"), [WORST[0], WORST[2]]),
            (("--topic", "new"), []),
            (("--since", "5m ago"), []),
            (("--at", "2025-11-21T13:30"), []),
            (("--only", "critical"), WORST[:2]),
            (("--pattern", "(?=ord).*"), WORST),
            (("--pattern", "(?!ord).*"), []),
            (("--since", "15m ago"), WORST),
            (("--number", "1"), WORST[:1]),
        ],
        4,
    ),
)
def test_filters(ask: Ask, filters: tuple[str, ...], left: list[str]) -> None:
    """--since leaves only new findings; --at takes an older snapshot, which had none."""
    assert [one["finding"] for one in ask("health", *DEFAULT, "--json", *filters).rows("finding")] == left


def test_a_healthy_answer_says_what_was_looked_for(ask: Ask) -> None:
    """Without findings there is a line with their names, or with those that were chosen."""
    lines = ask("health", *DEFAULT, "--topic", "new").out.splitlines()
    assert lines[lines.index("count:") + 1] == f"none; looked for {', '.join(FINDINGS)}"
    chosen = ask("health", *DEFAULT, "--topic", "new", "--only", "critical,leader_skew").out
    assert "none; looked for critical, leader_skew\n" in chosen


@pytest.mark.parametrize(
    ("limits", "line"),
    first(
        [
            ("leaderless=1,critical=2,findings=3,offline_replicas", None),
            ("critical=1", "critical above 1: 2 findings (leaderless orders-0)"),
            ("age=10m", "age above 10m: 1 snapshot, highest 11m (default)"),
            ("leaderless", "leaderless above 0: 1 finding (leaderless orders-0)"),
            ("findings", "findings above 0: 3 findings (leaderless orders-0)"),
        ],
        3,
    ),
)
def test_a_passed_limit_is_exit_3(ask: Ask, limits: str, line: str | None) -> None:
    """Limits apply to all findings, to one kind or to a severity."""
    shown = ask("health", *DEFAULT, "--fail-above", limits)
    assert (shown.code, shown.err) == ((3, f"lagoon: {line}\n") if line else (0, ""))


def test_a_passed_limit_names_the_cluster_if_there_are_several(ask: Ask) -> None:
    """Each cluster may have partition orders-0."""
    assert ask("health", "--fail-above", "leaderless").err.splitlines() == [
        "lagoon: leaderless above 0: 1 finding (default leaderless orders-0)",
        "lagoon: second: the snapshot is INCOMPLETE, so no limit is known to be kept",
    ]


def test_all_limits_read_the_findings_once() -> None:
    """The view is the costly part of the command."""
    statements: list[str] = []

    def ask(statement: str, *_: int | str) -> Rows:
        statements.append(statement)
        counted = pa.table(
            {
                "rows": [2, 1],
                "first": ["b", "a"],
                "severity": ["critical"] * 2,
                "finding": ["leaderless", "no_controller"],
            }
        )
        return Rows(schema=counted.schema, batches=iter(counted.to_batches()))

    names = ("critical", "leaderless", "findings", "warning")
    limits = [Threshold(name=name, limit=0, unit=Unit.COUNT) for name in names]
    context = TablesContext(ask=ask, options=Namespace(fail_above=limits), snapshots=[], now_ms=0)
    columns = {"critical": "severity", "warning": "severity", "leaderless": "finding"}
    lines = list(
        count_lines(context, "SELECT * FROM health_findings WHERE", Condition(), columns, "entity", "findings")
    )
    assert lines == [
        "critical above 0: 3 findings (a)",
        "leaderless above 0: 2 findings (b)",
        "findings above 0: 3 findings (a)",
    ]
    assert len(statements) == 1


def test_an_incomplete_snapshot_keeps_no_limit(ask: Ask) -> None:
    """Tables that could not be read may have findings, so limits count as passed."""
    assert ask("health", "--cluster", "second", "--fail-above", "leaderless").code == 3
    assert ask("health", "--cluster", "second").code == 0


@pytest.fixture(scope="module")
def unknown_min_isr(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A complete snapshot: min.insync.replicas of `odd` was not returned, and of `old` it is not offered."""
    partitions = [
        row(
            PartitionRow,
            topic=topic,
            topic_id=topic,
            partition=0,
            leader_id=1,
            replicas=(1, 2),
            isr=(1, 2),
            is_leaderless=False,
            is_under_replicated=False,
            is_under_min_isr=False if problem is None else None,
            is_at_min_isr=False if problem is None else None,
            is_preferred_leader=True,
            problem=problem,
        )
        for topic, problem in (("known", None), ("odd", MIN_ISR_NOT_RETURNED), ("old", "UNSUPPORTED_VERSION"))
    ]
    listed = [row(TopicRow, topic=one.topic, topic_id=one.topic, partitions=1) for one in partitions]
    coverage = row(CoverageRow, api="Metadata", requests=1, answered=1, expected=1, visibility="complete")
    made = snapshot(1, *partitions, *listed, coverage, status="complete", topics=3)
    return make_lake(tmp_path_factory.mktemp("unknown"), (made,))


@pytest.mark.parametrize(
    ("argv", "line"),
    first(
        [
            (("critical",), "critical not known of 1 partition, e.g. odd-0"),
            (("warning=5",), "warning not known of 1 partition, e.g. odd-0"),
            (("leaderless,hanging_transaction",), None),
            (("critical", "--topic", "known,old"), None),
            (("critical", "--pattern", "(?!odd).*"), None),
            (("critical", "--only", "leaderless"), None),
            (("info=2",), None),
            (("at_min_isr", "--topic", "odd"), "at_min_isr not known of 1 partition, e.g. odd-0"),
        ],
        4,
    ),
)
def test_an_unknown_min_isr_is_above_a_limit_on_it(
    unknown_min_isr: Path, run: Ask, argv: tuple[str, ...], line: str | None
) -> None:
    """The partition may refuse writes. What brokers do not offer, or a limit is not about, keeps the limit."""
    shown = run("health", "--warehouse", str(unknown_min_isr), "--fail-above", *argv)
    assert (shown.code, shown.err) == ((3, f"lagoon: {line}\n") if line else (0, ""))


def test_names_are_those_of_the_view() -> None:
    """Exactly the findings and severities that the view documents can be selected and limited."""
    comments = column_comments("health_findings")
    assert ", ".join(FINDINGS[:-1]) + f" or {FINDINGS[-1]}." == comments["finding"]
    assert all(f"{name}: " in comments["severity"] for name in SEVERITIES)
    assert comments["severity"].count(": ") == len(SEVERITIES)


def test_severities_and_tables_are_those_of_the_view() -> None:
    """The severity of each finding, and the table that it depends on, are as in the view's SQL, which has no other finding."""
    sql = next(view for view in VIEWS if view.name == "health_findings").sql
    made = re.findall(r"(?:'\w+', |\()'(\w+)',\s+(?:'(?:critical|warning|info)'|CASE WHEN)", sql)
    assert {*made, "stuck_reassignment"} == {*FINDINGS}, "declare a new finding in _FINDINGS of cli/tables/health.py"
    for name, finding in _FINDINGS.items():
        if name == "stopped_group":
            assert finding.severities == ["warning", "info"]
            assert (
                f"'{finding.table}', '{name}',\n    CASE WHEN expected.should_run THEN 'warning' ELSE 'info' END" in sql
            )
        elif name == "stuck_reassignment":
            assert finding == replace(_FINDINGS["reassignment"], meaning=finding.meaning, severities=["warning"])
        elif f"    ('{name}', '" in sql:
            assert f"    ('{name}', '{finding.severities[0]}')" in sql
            assert f"'{finding.table}' AS table_name, kinds.finding" in sql
        else:
            assert f"'{finding.table}', '{name}', '{finding.severities[0]}'" in sql
