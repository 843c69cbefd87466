"""`lagoon changes --between`: differences of two clusters; the tables are those of the example of view cluster_differences."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kafka_lagoon.cli.main import main
from kafka_lagoon.cli.tables.differences import ENTITIES
from kafka_lagoon.query.views import column_comments
from tests.cli.tables.conftest import Ask, Shown
from tests.clock import CLOCK
from tests.query.views.worked_examples import FOLDER, lake_of, lake_of_text, read_examples

pytestmark = pytest.mark.long

NOW_MS = round(datetime(2026, 11, 20, 10, 30, tzinfo=UTC).timestamp() * 1000)
BETWEEN = ("--between", "prod,spare")
SAME = "no differences: prod and spare have the same"
ONLY_TOPICS_ARE_KNOWN = """
== prod
snapshots | captured_at | topics
1         | 10:00       | 1

coverage | api      | requests | visibility
1        | Metadata | 1        | complete

topics | topic  | topic_id | partitions
1      | orders | O        | 1

== spare
snapshots | captured_at | topics
2         | 10:00       | 1

coverage | api      | requests | visibility
2        | Metadata | 1        | complete

topics | topic    | topic_id | partitions
2      | payments | P        | 1
"""


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Snapshots of three clusters; blind shows nearly nothing."""
    return lake_of(tmp_path_factory.mktemp("tables"), read_examples(FOLDER.with_name("three_clusters.txt")))


@pytest.fixture
def ask(lake: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Run a command over the warehouse."""
    monkeypatch.setattr("kafka_lagoon.clock.SYSTEM_CLOCK", replace(CLOCK, now_ms=lambda: NOW_MS))

    def command(*argv: str) -> Shown:
        code = main(["changes", *argv, "--warehouse", str(lake)])
        return Shown(code, *capsys.readouterr())

    return command


def entities(shown: Shown) -> list[tuple[str, str]]:
    """Return types and names of the differences."""
    return [(row["entity_type"], row["entity"]) for row in shown.rows("difference")]


def test_differences_of_two_clusters(ask: Ask) -> None:
    """Scripts get all columns; people see the snapshots and the differences, those that are unknown last."""
    rows = ask("--json", *BETWEEN).rows("difference")
    assert len(rows) == 17
    assert {(row["cluster"], row["other_cluster"]) for row in rows} == {("prod", "spare")}
    assert rows[-1]["other_problem"] == "NOT_DESCRIBED"
    lines = ask(*BETWEEN).out.splitlines()
    assert [line.partition(":")[0] for line in lines[:2]] == ["prod", "spare"]
    assert lines[lines.index("difference:") + 1].split()[:6] == [
        "difference",
        "entity_type",
        "entity",
        "attribute",
        "value",
        "other_value",
    ]
    assert lines[-1].split()[0] == "unknown"


def test_sql_has_the_same_rows(lake: Path, ask: Ask, capsys: pytest.CaptureFixture[str]) -> None:
    """The command reads two snapshots, a statement over the view all of the history."""
    statement = (
        "SELECT 'difference' AS kind, * FROM cluster_differences WHERE cluster = 'prod' AND other_cluster = 'spare'"
    )
    assert main(["sql", statement, "--json", "--warehouse", str(lake)]) == 0
    by_sql = sorted(capsys.readouterr().out.splitlines())
    assert by_sql == sorted(line for line in ask("--json", *BETWEEN).out.splitlines() if '"difference"' in line)


def test_the_other_side(ask: Ask) -> None:
    """The first of the two names is `here`."""
    rows = ask("--json", "--between", "spare,prod").rows("difference")
    (carts,) = [row for row in rows if row["entity"] == "carts"]
    assert (carts["difference"], carts["is_proven"]) == ("only_there", False)


@pytest.mark.parametrize(
    ("filters", "left"),
    [
        (("--entity", "quota,scram_user"), [("quota", "user=a"), ("scram_user", "a")]),
        (("--topic", "carts,returns"), [("topic", "carts"), ("topic", "returns")]),
        (("--group", "billing"), [("group", "billing")]),
        (("--pattern", "(?=TOPIC) ?.*", "--number", "1"), [("acl", "TOPIC LITERAL orders User:a * READ ALLOW")]),
    ],
)
def test_filters(ask: Ask, filters: tuple[str, ...], left: list[tuple[str, str]]) -> None:
    """A difference must match all filters."""
    assert entities(ask("--json", *BETWEEN, *filters)) == left


def test_a_filter_keeps_unknown_lists(ask: Ask) -> None:
    """The topics of blind are unknown, so orders may be there or not."""
    of_orders = ask("--json", "--between", "prod,blind", "--topic", "orders")
    assert entities(of_orders) == [("config", None), ("topic", None)]
    assert {row["other_problem"] for row in of_orders.rows("difference")} == {
        "CLUSTER_AUTHORIZATION_FAILED",
        "NOT_ASKED",
    }


def test_a_pattern_keeps_unknown_lists(tmp_path: Path, run: Ask) -> None:
    """Names that a list would have may match."""
    lake = lake_of_text(tmp_path, ONLY_TOPICS_ARE_KNOWN)
    chosen = ("--entity", "topic,group", "--pattern", "ord.*")
    of_orders = run("changes", "--json", *BETWEEN, *chosen, "--warehouse", str(lake))
    assert entities(of_orders) == [("topic", "orders"), ("group", None)]


def test_no_differences_are_said(ask: Ask) -> None:
    """People see that nothing differs, also of a topic and a group that only one of the clusters has."""
    for chosen in (
        ("--topic", "same", "--entity", "topic"),
        ("--topic", "returns", "--group", "audit", "--entity", "acl"),
    ):
        shown = ask(*BETWEEN, *chosen)
        assert (shown.code, shown.out.splitlines()[-1], shown.err) == (0, SAME, "")


def test_names_that_neither_cluster_has(ask: Ask) -> None:
    """A name with an error in writing has no differences in any clusters, so it is exit 3."""
    shown = ask(*BETWEEN, "--topic", "orders,ordres", "--group", "biling,audit", "--entity", "quota")
    assert (shown.code, shown.out.splitlines()[-1]) == (3, SAME)
    assert shown.err.splitlines() == [
        "lagoon: topic ordres: not in the snapshot",
        "lagoon: group biling: not in the snapshot",
    ]


@pytest.mark.parametrize(
    ("clusters", "limits", "line"),
    [
        ("prod,spare", "differences=15,acl=1", "differences above 15: 16 differences (acl TOPIC LITERAL orders User:a"),
        ("prod,spare", "quota", "quota above 0: 1 difference (quota user=a consumer_byte_rate)"),
        ("prod,spare", "config=10", "config not known of 1 difference, e.g. config topic same retention.ms"),
        ("prod,blind", "acl=10", "acl not known of 1 difference, e.g. acl"),
    ],
)
def test_a_passed_limit_is_exit_3(ask: Ask, clusters: str, limits: str, line: str) -> None:
    """A limit is passed by a number of differences, and by one that is unknown."""
    shown = ask("--between", clusters, "--fail-above", limits)
    assert shown.code == 3
    assert f"lagoon: {line}" in shown.err


def test_kept_limits_are_exit_0(ask: Ask) -> None:
    """The numbers of differences and the age of both snapshots are within their limits."""
    shown = ask(*BETWEEN, "--fail-above", "acl=1,group=2,age=30m")
    assert (shown.code, shown.err) == (0, "")


def test_an_older_snapshot(ask: Ask) -> None:
    """--at compares the snapshots of that time: prod had another topic, and nothing else is known of it."""
    rows = ask("--json", *BETWEEN, "--at", "2026-11-20T10:08").rows("difference")
    assert {row["captured_at"] for row in rows} == {"2026-11-20T10:00:00.000Z"}


def test_an_incomplete_snapshot_keeps_no_limit(ask: Ask) -> None:
    """Differences may be missing, so that their number says nothing: exit 3."""
    shown = ask(*BETWEEN, "--at", "2026-11-20T10:08", "--fail-above", "age=1h")
    assert (shown.code, shown.err) == (3, "lagoon: prod: the snapshot is INCOMPLETE, so no limit is known to be kept\n")


def test_a_cluster_without_snapshot(ask: Ask, tmp_path: Path) -> None:
    """Nothing is compared, which is not the same as no difference: exit 3."""
    settings = tmp_path / "lagoon.toml"
    settings.write_text("".join(f'[clusters.{name}]\nbootstrap_servers = "127.0.0.1:1"\n' for name in ("prod", "dr")))
    shown = ask("--between", "prod,dr", "--conf", str(settings))
    assert shown.code == 3
    assert "lagoon: nothing is compared: dr: no snapshot yet\n" in shown.err
    assert "dr: no snapshot yet" in shown.out


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        (("--between", "prod"), "'prod' is not two names of clusters"),
        (("--between", "prod,prod"), "'prod,prod' is not two names of clusters"),
        ((*BETWEEN, "--since", "2h ago"), "--since and --between exclude each other"),
        ((*BETWEEN, "--cluster", "prod"), "--cluster and --between exclude each other"),
        ((*BETWEEN, "--type", "added"), "--type and --between exclude each other"),
        ((*BETWEEN, "--sort", "time"), "--sort and --between exclude each other"),
        ((*BETWEEN, "--entity", "member"), "--entity member: with --between there are topic, config"),
        ((*BETWEEN, "--fail-above", "removed"), "--fail-above removed: with --between there are differences, topic"),
        (("--fail-above", "differences"), "--fail-above differences: give --between A,B, too"),
        (("--between", "prod,nowhere"), "there is no published snapshot of nowhere"),
    ],
)
def test_faults(ask: Ask, argv: tuple[str, ...], line: str) -> None:
    """A fault is one line, and exit code 2, or 1 if there is no such cluster in the tables."""
    shown = ask(*argv)
    assert (shown.code, shown.out) == (1 if "nowhere" in line else 2, "")
    assert line in shown.err


def test_entities_are_those_of_the_view() -> None:
    """Exactly the types that the view documents can be selected and limited."""
    listed = (
        column_comments("cluster_differences")["entity_type"].removeprefix("Type of the entity: ").removesuffix(".")
    )
    assert tuple(listed.replace(" or ", ", ").split(", ")) == ENTITIES
