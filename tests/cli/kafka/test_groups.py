"""groups, describe-group and lag: every group has its row, and unknown is never 0."""

import pytest

from kafka_lagoon.cli.main import main
from kafka_lagoon.cli.thresholds import NOTHING_SELECTED
from kafka_lagoon.protocol.messages.list_groups import LIST_GROUPS
from tests.cli.kafka.conftest import Ask
from tests.fake.acls import OF_SOMEBODY
from tests.fake.cluster import FakeCluster, FakeCommit, FakeGroup, FakeMember
from tests.fake.faults import Close, Fault

ODD = "g\x1b[2J\u2066"


@pytest.fixture(autouse=True)
def groups(state: FakeCluster) -> None:
    """A group that reads, a group with a commit past the end, a group with an odd name, and a group of another type."""
    state.groups["reader"] = FakeGroup(
        coordinator_id=2,
        state="Stable",
        commits={("orders", 0): FakeCommit(90), ("orders", 1): FakeCommit(100)},
        members=[FakeMember("m1", ("orders",), {"orders": (0, 1, 2)})],
    )
    state.groups["ahead"] = FakeGroup(coordinator_id=1, commits={("other", 0): FakeCommit(103)})
    state.groups[ODD] = FakeGroup(coordinator_id=3)
    state.groups["new"] = FakeGroup(coordinator_id=3, group_type="consumer", state="Stable")


def test_groups_of_every_broker_are_listed(ask: Ask) -> None:
    """Type, state and coordinator of each; names are exact in JSON and escaped for people."""
    rows = ask("groups", "--json").rows("group")
    assert {(one["group_id"], one["group_type"], one["state"], one["coordinator_id"]) for one in rows} == {
        ("reader", "classic", "Stable", 2),
        ("ahead", "classic", "Empty", 1),
        (ODD, "classic", "Empty", 3),
        ("new", "consumer", "Stable", 3),
    }
    shown = ask("groups").out
    assert r"g\u001b[2J\u2066" in shown
    assert "\x1b" not in shown


@pytest.mark.parametrize(
    ("filters", "left"),
    [
        (("--type", "consumer"), {"new"}),
        (("--state", "stable"), {"new", "reader"}),
        (("--pattern", "r.*|a.*"), {"reader", "ahead"}),
        (("--pattern", "r.*", "--state", "Empty"), set()),
    ],
)
def test_groups_are_chosen_by_filters(ask: Ask, filters: tuple[str, ...], left: set[str]) -> None:
    """A group must match all filters."""
    assert {one["group_id"] for one in ask("groups", "--json", *filters).rows("group")} == left


def test_groups_without_a_listed_type_or_state_are_not_hidden(state: FakeCluster, ask: Ask) -> None:
    """Brokers that list no types have classic groups only; if they list no states, a line says what is left out."""
    state.highest = {LIST_GROUPS.key: 4}
    shown = ask("groups", "--json", "--type", "classic", "--state", "Stable")
    assert {one["group_id"] for one in shown.rows("group")} == {"reader", "new"}
    assert shown.code == 0
    state.highest = {LIST_GROUPS.key: 3}
    shown = ask("groups", "--json", "--pattern", "r.*", "--state", "Stable")
    assert (shown.code, shown.rows("group")) == (3, [])
    assert shown.err == "lagoon: --state leaves out 1 group whose state brokers before Kafka 2.6 do not list\n"
    assert len(ask("groups", "--json", "--type", "classic").rows("group")) == 4


@pytest.mark.parametrize(
    "filters",
    [("groups", "--type", "clasic"), ("groups", "--state", "Stable,Empti"), ("transactions", "--state", "Ongoin")],
)
def test_a_misspelt_filter_is_refused(filters: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """It would choose nothing, as if there were nothing; the line has the names that there are."""
    assert main(["kafka", *filters, "-b", "127.0.0.1:1"]) == 2
    assert f"{filters[2].rpartition(',')[2]}: there are " in capsys.readouterr().err


def test_a_state_is_no_type(capsys: pytest.CaptureFixture[str]) -> None:
    """The line that refuses it names the option that takes it."""
    assert main(["kafka", "groups", "-b", "127.0.0.1:1", "--type", "empty"]) == 2
    assert "; --state takes empty; see" in capsys.readouterr().err


def test_groups_that_may_be_hidden_are_said(state: FakeCluster, ask: Ask) -> None:
    """Without DESCRIBE on the cluster the list of groups is marked as filtered; commits are always marked."""
    state.cluster_operations, state.acls = 0, (OF_SOMEBODY,)
    line = "lagoon: groups: not all of them: brokers leave out those that we may not describe\n"
    assert ask("groups").err == line
    assert ask("describe-group", "reader").err == ""
    line = "lagoon: topics of groups: perhaps not all of them: brokers leave out those that we may not describe\n"
    assert ask("lag", "reader").err == line


def test_a_broker_that_does_not_list_is_a_failure(state: FakeCluster, ask: Ask) -> None:
    """The groups of other brokers are listed; the missing broker is named."""
    state.faults.append(Fault(LIST_GROUPS.key, Close(), node_id=2, times=1_000))
    shown = ask("groups", "--json", "--timeout", "2")
    assert shown.code == 3
    assert {one["group_id"] for one in shown.rows("group")} == {"ahead", ODD, "new"}
    assert shown.err.startswith("lagoon: broker 2: ListGroups of broker 2: CONNECTION_LOST")


def test_a_group_is_described_with_its_members(ask: Ask) -> None:
    """Members are shown with their assignments; an unlisted group is a line and exit 3."""
    shown = ask("describe-group", "reader", "nobody", "--json")
    assert shown.code == 3
    assert shown.err == (
        "lagoon: group nobody: ListGroups: NOT_LISTED "
        "(no broker lists it: it is not there, or we may not describe it)\n"
    )
    assert [(one["group_id"], one["members"], one["protocol"]) for one in shown.rows("group")] == [
        ("reader", 1, "range")
    ]
    (member,) = shown.rows("member")
    assert member["assignment"] == [{"topic": "orders", "topic_id": None, "partitions": [0, 1, 2]}]


def test_assignments_that_have_topic_ids_only(state: FakeCluster, ask: Ask) -> None:
    """describe-group and lag name the topics as metadata does; an unknown id stays an id, with a problem."""
    members = [FakeMember("n1", ("orders",), {"orders": (0, 1)}), FakeMember("n2", (), {"gone": (5,)})]
    state.groups["new"].members, state.groups["new"].has_names = members, False
    rows = {one["member_id"]: one for one in ask("describe-group", "new", "--json").rows("member")}
    assert [one["topic"] for one in rows["n1"]["assignment"]] == ["orders"]
    assert [(one["topic"], one["partitions"]) for one in rows["n2"]["assignment"]] == [(None, [5])]
    assert [rows[member]["problem"] for member in ("n1", "n2")] == [None, "UNKNOWN_TOPIC_ID"]
    lag = {(one["topic"], one["partition"]): one["member_id"] for one in ask("lag", "new", "--json").rows("lag")}
    assert lag == {("orders", 0): "n1", ("orders", 1): "n1", ("orders", 2): None}


def test_a_group_that_may_not_be_described_keeps_its_row(state: FakeCluster, ask: Ask) -> None:
    """GROUP_AUTHORIZATION_FAILED is a problem of that group only."""
    state.groups["reader"].error_code = 30
    shown = ask("describe-group", "--json")
    assert shown.code == 3
    assert {one["group_id"]: one["problem"] for one in shown.rows("group")} == {
        "reader": "GROUP_AUTHORIZATION_FAILED",
        "ahead": None,
        ODD: None,
        "new": None,
    }


def test_lag_is_raw_and_unknown_is_not_zero(ask: Ask) -> None:
    """A commit past the end is a negative lag; a missing commit is null with its reason; sums count their known partitions."""
    shown = ask("lag", "--json")
    assert (shown.code, shown.err) == (0, "")
    lag = {(one["group_id"], one["topic"], one["partition"]): (one["lag"], one["problem"]) for one in shown.rows("lag")}
    assert lag == {
        ("reader", "orders", 0): (10, None),
        ("reader", "orders", 1): (0, None),
        ("reader", "orders", 2): (None, "NO_COMMIT"),
        ("ahead", "other", 0): (-3, None),
    }
    sums = {one["group_id"]: (one["lag"], one["known_partitions"], one["partitions"]) for one in shown.rows("group")}
    assert sums == {"reader": (10, 2, 3), "ahead": (-3, 1, 1), ODD: (None, 0, 0), "new": (None, 0, 0)}


def test_lag_of_one_group(ask: Ask) -> None:
    """Only that group is described; an unlisted group is a failure."""
    shown = ask("lag", "ahead", "--json")
    assert {one["group_id"] for one in shown.rows("group")} == {"ahead"}
    assert ask("lag", "nobody").code == 3


def test_lag_of_a_topic_that_is_gone_hides_nothing(state: FakeCluster, ask: Ask) -> None:
    """The commit is shown, the end is unknown, and the lag of other topics is shown."""
    state.groups["reader"].commits["gone", 0] = FakeCommit(7)
    shown = ask("lag", "reader", "--json")
    rows = {
        (one["topic"], one["partition"]): (one["committed_offset"], one["lag"], one["problem"])
        for one in shown.rows("lag")
    }
    assert rows["gone", 0] == (7, None, "UNKNOWN_TOPIC_OR_PARTITION")
    assert rows["orders", 0] == (90, 10, None)


def test_members_are_ordered_by_their_ids(state: FakeCluster, ask: Ask) -> None:
    """Members are sorted, because coordinators return them in any order, and outputs of two runs must be comparable."""
    state.groups["reader"].members = [FakeMember(name, ("orders",), {"orders": ()}) for name in ("m3", "m1", "m2")]
    members = ask("describe-group", "reader", "--json").rows("member")
    assert [one["member_id"] for one in members] == ["m1", "m2", "m3"]


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        (("--topic", "ordres"), "topic ordres: Metadata: NOT_LISTED"),
        (("--topic", "ordres,orders", "--fail-above", "lag=1M"), "topic ordres: Metadata: NOT_LISTED"),
        (("reader", "--topic", "ordres", "--fail-above", "lag=1M"), "topic ordres: Metadata: NOT_LISTED"),
        (("ahead", "--topic", "orders", "--fail-above", "lag=1M"), NOTHING_SELECTED),
        (("--pattern", "nomatch.*", "--fail-above", "lag=1M"), NOTHING_SELECTED),
    ],
)
def test_a_selection_that_no_limit_could_miss(ask: Ask, argv: tuple[str, ...], line: str) -> None:
    """A topic that is not there, and groups that are chosen without any row, keep no limit."""
    shown = ask("lag", *argv)
    assert shown.code == 3
    assert f"lagoon: {line}" in shown.err


def test_nothing_to_read_is_no_lag(state: FakeCluster, ask: Ask) -> None:
    """That no group reads a topic is an answer, as are commits in a topic that was deleted."""
    state.add_topic("quiet", 1)
    state.groups["late"] = FakeGroup(coordinator_id=1, commits={("deleted", 0): FakeCommit(1)})
    assert ask("lag", "--topic", "quiet", "--fail-above", "lag=0").code == 0
    assert "NOT_LISTED" not in ask("lag", "--topic", "deleted").err
    assert ask("lag", "--pattern", "nomatch.*").code == 0
