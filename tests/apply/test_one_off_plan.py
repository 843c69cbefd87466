"""One-time actions are planned only where they may be done; for the others there is a line. More in tests/integration/test_one_offs.py."""

from dataclasses import replace
from typing import Any

import pytest

from kafka_lagoon.admin.voters import Voter
from kafka_lagoon.apply import one_off_plan
from kafka_lagoon.apply.live_reading import Wanted, read_live
from kafka_lagoon.apply.one_off_plan import OneOffPlan, plan_one_offs
from kafka_lagoon.apply.plan import plan_state
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.fetch.ranges import LogBounds
from kafka_lagoon.protocol.messages.describe_log_dirs import DESCRIBE_LOG_DIRS
from kafka_lagoon.protocol.messages.list_groups import LIST_GROUPS
from kafka_lagoon.topic_partition import TopicPartition
from tests.admin.conftest import altering_apis, cluster, soon, topic_apis
from tests.admin.test_transactions import transaction
from tests.apply.lives import desired
from tests.apply.test_transaction_aborts import producer
from tests.fake.cluster import FakeCluster, FakeCommit, FakeGroup, FakeMember
from tests.fake.faults import Altered, Fault

__all__ = ["altering_apis", "cluster", "topic_apis"]  # fixtures of tests/admin
pytestmark = pytest.mark.usefixtures("altering_apis")

ABORT = '[[actions]]\naction = "abort_transaction"\npartition = "orders-0"\nstart_offset = 40\n'


def planned(cluster: Cluster, text: str) -> OneOffPlan:
    return plan_one_offs(cluster, desired(text), read_live(cluster, Wanted(), soon()), soon())


def test_only_a_hanging_transaction_is_aborted(state: FakeCluster, cluster: Cluster) -> None:
    """A live transaction would lose its records; its producer would not notice."""
    state.producers["orders", 0] = (producer(40),)
    plan = planned(cluster, ABORT)
    assert [(one.kind, one.source) for one in plan.actions] == [("abort_transaction", "x.toml:2")]
    assert [note.partition(":")[0] for note in plan.notes] == ["x.toml"]
    state.transactions = {"a": transaction("a", 1)}
    plan = planned(cluster, ABORT)
    assert (plan.actions, [failure.name for failure in plan.failures]) == ([], ["NOT_HANGING"])
    assert "fence-producer" in str(plan.failures[0].message)


def test_what_the_file_does_not_own_is_not_altered(state: FakeCluster, cluster: Cluster) -> None:
    """Neither groups nor transactions of topics that no pattern matches; a partition that does not exist is a fault, too."""
    state.groups["g"] = FakeGroup(coordinator_id=1, commits={("orders", 0): FakeCommit(20)})
    state.producers["orders", 0] = (producer(40),)
    reset = '[[actions]]\naction = "reset_offsets"\ngroup = "g"\npartitions = ["orders-0"]\nto = "earliest"\n'
    delete = '[[actions]]\naction = "delete_group"\ngroup = "g"\n'
    owns = '[owns]\ntopics = ["own-one"]\ngroups = ["own-one"]\n'
    plan = planned(cluster, owns + reset + delete + ABORT + ABORT.replace("orders-0", "orders-99"))
    assert (plan.actions, plan.failures) == ([], [])
    assert plan.faults == [
        "x.toml:7: actions[1].group: g is not matched by owns.groups",
        "x.toml:12: actions[2].group: g is not matched by owns.groups",
        "x.toml:15: actions[3].partition: topic orders is not matched by owns.topics",
        "x.toml:19: actions[4].partition: there is no partition orders-99",
    ]
    assert len(planned(cluster, owns.replace("own-one", "g|orders") + delete + ABORT).actions) == 2


def test_a_group_is_deleted_if_it_is_there(state: FakeCluster, cluster: Cluster) -> None:
    """A note says that brokers will refuse it while the group has members. A broker that does not answer may have the group."""
    text = '[[actions]]\naction = "delete_group"\ngroup = "g"\n'
    plan = planned(cluster, text)
    assert (plan.actions, plan.failures, plan.notes) == ([], [], [])
    state.groups["g"] = FakeGroup(coordinator_id=1)
    plan = planned(cluster, text)
    assert ([one.kind for one in plan.actions], plan.notes) == (["delete_group"], [])
    state.groups["g"].members, state.groups["g"].state = [FakeMember("m")], "Stable"
    plan = planned(cluster, text)
    assert [one.kind for one in plan.actions] == ["delete_group"]
    assert plan.notes == ["x.toml:2: group g has members, so brokers will refuse to delete it"]
    state.groups.clear()
    state.faults += [Fault(LIST_GROUPS.key, Altered(lambda answer: replace(answer, error_code=31)), times=1)]
    plan = planned(cluster, text)
    assert (plan.actions, [failure.name for failure in plan.failures]) == ([], ["CLUSTER_AUTHORIZATION_FAILED"])


def test_what_cannot_be_read_is_a_failure(state: FakeCluster, cluster: Cluster) -> None:
    """Of logs and voters, and an offset that is none: the other actions are planned."""
    state.groups["g"] = FakeGroup(coordinator_id=1, commits={("orders", 1): FakeCommit(20)})
    records = '[[actions]]\naction = "delete_records"\npartitions = ["orders-0", "orders-1"]\nbefore = 5\n'
    state.topics["orders"].partitions[0].error_code = 56  # KAFKA_STORAGE_ERROR
    plan = planned(cluster, records)
    assert [one.resource.name for one in plan.actions] == ["orders-1"]
    assert {(one.name, one.scope.partition) for one in plan.failures} == {("KAFKA_STORAGE_ERROR", 0)}
    shift = '[[actions]]\naction = "reset_offsets"\ngroup = "g"\npartitions = ["orders-1", "orders-2"]\nshift = -3\n'
    plan = planned(cluster, shift)
    assert [one.after for one in plan.actions] == [{"committed_offset": 17}]
    assert ([failure.name for failure in plan.failures], plan.undone) == (["NO_COMMIT"], [])
    voter = "[[actions]]\naction = 'remove_voter'\nvoter = 3\ndirectory_id = 'AAAAAAAAAAAAAAAAAAAAAQ'\n"
    plan = planned(cluster, voter)
    assert (plan.actions, [failure.name for failure in plan.failures]) == ([], ["UNSUPPORTED_VERSION"])


def test_an_unclean_election_waits_for_no_replica(state: FakeCluster, cluster: Cluster) -> None:
    """It is for a partition of which no replica is in sync; one that has a leader needs none."""
    led, lost = state.add_topic("late", 2).partitions
    lost.replicas, lost.isr, lost.leader_id = (2, 1), (), -1
    cluster.refresh(None, soon())
    plan = planned(cluster, '[[actions]]\naction = "elect_leaders"\ntopics = ["late"]\nelection = "unclean"\n')
    assert [(one.resource.name, one.source) for one in plan.actions] == [("late-1", "x.toml:2")]
    assert (plan.undone, led.leader_id >= 0) == ([], True)


def test_an_election_waits_for_a_preferred_leader_that_is_not_in_sync(state: FakeCluster, cluster: Cluster) -> None:
    """It is not done, so the plan is not complete."""
    (partition,) = state.add_topic("late", 1).partitions
    partition.replicas, partition.isr, partition.leader_id = (1, 2), (2,), 2
    cluster.refresh(None, soon())
    plan = planned(cluster, '[[actions]]\naction = "elect_leaders"\ntopics = ["late"]\n')
    assert (plan.actions, plan.notes) == ([], [])
    assert plan.undone == ["x.toml:2: 1 preferred leaders are not in sync: not elected yet"]


@pytest.mark.usefixtures("topic_apis")
def test_an_election_waits_for_a_move_of_the_same_plan(state: FakeCluster, cluster: Cluster) -> None:
    """The move may change the preferred leader: the election was then not needed, and recorded as one of the leader before."""
    (partition,) = state.add_topic("moved", 1).partitions
    partition.replicas, partition.isr, partition.leader_id = (1, 2), (1, 2), 2
    cluster.refresh(None, soon())
    text = '[topics.moved]\nassignments = [[2, 1]]\n[[actions]]\naction = "elect_leaders"\ntopics = ["moved"]\n'
    state_of_file = replace(desired(text), cluster_id=cluster.cluster_id or "")
    plan = plan_state(cluster, state_of_file, soon())
    assert [action.kind for action in plan.actions] == ["reassign_partition"]
    assert plan.undone == ["x.toml:4: 1 partitions are moved first: not elected yet"]
    partition.replicas = (2, 1)
    cluster.refresh(None, soon())
    plan = plan_state(cluster, state_of_file, soon())
    assert (plan.actions, plan.undone) == ([], [])


def test_records_before_a_time_in_a_log_that_moves(
    state: FakeCluster, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log ended before the offset of the time when its bounds were read; only an offset that is written is a fault then."""
    partition = state.add_topic("moving", 1, end=0).partitions[0]
    partition.times = ((1_700_000_000_000, 30),)
    early = LogBounds(log_start_offset=0, high_watermark=10, last_stable_offset=10, end=10)
    monkeypatch.setattr(one_off_plan, "ask_log_bounds", lambda *_: ({TopicPartition("moving", 0): early}, {}))
    text = '[[actions]]\naction = "delete_records"\ntopics = ["moving"]\nbefore = {}\n'
    plan = planned(cluster, text.format('"2001-01-01"'))
    assert ([one.after for one in plan.actions], plan.faults) == ([{"log_start_offset": 30}], [])
    plan = planned(cluster, text.format(30))
    assert (plan.actions, plan.faults) == ([], ["x.toml:5: actions[1].before: moving-0 ends at 10, before 30"])


@pytest.mark.usefixtures("topic_apis")
def test_one_thing_is_wanted_of_a_resource(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two actions that want different things of it are a fault, and so is a missing password; equal actions are one."""
    monkeypatch.delenv("UNSET", raising=False)
    records = '[[actions]]\naction = "delete_records"\npartitions = ["orders-0"]\nbefore = {}\n'
    user = '[scram_users.alice.SCRAM-SHA-256]\npassword = "env:UNSET"\n'
    same, other = (replace(desired(text), cluster_id=cluster.cluster_id or "") for text in (
        records.format(5) * 2, records.format(5) + records.format(6) + user,
    ))  # fmt: skip
    plan = plan_state(cluster, same, soon())
    assert [(action.kind, action.source) for action in plan.actions] == [("delete_records", "x.toml:2")]
    with pytest.raises(ConfigError) as raised:
        plan_state(cluster, other, soon())
    first, second = raised.value.problems
    assert first == "x.toml:6: partition orders-0 is to be another at x.toml:2"
    assert second.startswith("x.toml:10: set password of SCRAM user alice SCRAM-SHA-256: password: ")


@pytest.mark.usefixtures("topic_apis")
def test_replicas_of_a_topic_are_moved_on_brokers_that_have_them(state: FakeCluster, cluster: Cluster) -> None:
    """The broker does not lack the other partitions of the topic; one that is named itself it does lack."""
    for number, partition in enumerate(state.add_topic("wide", 2).partitions, 1):
        partition.replicas, partition.isr, partition.leader_id = (number,), (number,), number
    cluster.refresh(None, soon())
    text = '[[actions]]\naction = "move_replicas"\nbroker = 1\nlog_dir = "/b"\n{}\n'
    plan = planned(cluster, text.format('topics = ["wide"]'))
    assert ([one.resource.name for one in plan.actions], plan.failures) == (["wide-0 on broker 1"], [])
    plan = planned(cluster, text.format('topics = ["wide"]\npartitions = ["wide-1"]'))
    assert [failure.name for failure in plan.failures] == ["LOG_DIR_NOT_FOUND"]


@pytest.mark.usefixtures("topic_apis")
def test_many_moves_list_the_directories_of_a_broker_once(state: FakeCluster, cluster: Cluster) -> None:
    """Other requests are only about the partitions of an action: a broker has thousands of others."""
    requested: list[Any] = []

    def watched(answer: Any) -> Any:
        requested.append(answer)
        return answer

    state.faults.append(Fault(DESCRIBE_LOG_DIRS.key, Altered(watched), times=1_000))
    move = '[[actions]]\naction = "move_replicas"\nbroker = {}\nlog_dir = "/b"\npartitions = ["orders-{}"]\n'
    planned(cluster, "".join(move.format(number % 2 + 1, number) for number in range(4)))
    assert len(requested) == 2 + 4


def test_many_actions_read_the_cluster_once(
    state: FakeCluster, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The groups of all brokers are not listed for each group that is reset, nor partitions put in order for each election."""
    names = [f"g{number}" for number in range(6)]
    state.groups = {name: FakeGroup(coordinator_id=1, commits={("orders", 0): FakeCommit(20)}) for name in names}
    reset = '[[actions]]\naction = "reset_offsets"\ngroup = "{}"\npartitions = ["orders-0"]\nto = "earliest"\n'
    before = state.count(LIST_GROUPS.key)
    plan = planned(cluster, "".join(map(reset.format, names)))
    assert [one.resource.name for one in plan.actions] == [f"{name} orders-0" for name in names]
    assert state.count(LIST_GROUPS.key) - before <= 2 * len(cluster.brokers)
    made = list[object]()

    def counted(*given: Any) -> TopicPartition:
        made.append(given)
        return TopicPartition(*given)

    monkeypatch.setattr(one_off_plan, "TopicPartition", counted)
    elect = '[[actions]]\naction = "elect_leaders"\npartitions = ["orders-{}"]\n'
    planned(cluster, "".join(map(elect.format, range(6))))
    assert len(made) == sum(len(topic.partitions) for topic in state.topics.values())


def test_a_group_with_members_does_not_hold_up_other_actions(state: FakeCluster, cluster: Cluster) -> None:
    """It is not reset, and a line has the place and the reason; the group beside it is."""
    state.groups = {name: FakeGroup(coordinator_id=1, commits={("orders", 0): FakeCommit(20)}) for name in ("a", "b")}
    state.groups["a"].members, state.groups["a"].state = [FakeMember("m")], "Stable"
    text = '[[actions]]\naction = "reset_offsets"\ngroup = "{}"\npartitions = ["orders-0"]\nto = "earliest"\n'
    plan = planned(cluster, text.format("a") + text.format("b"))
    assert ([one.resource.name for one in plan.actions], plan.failures) == (["b orders-0"], [])
    (line,) = plan.undone
    assert line.startswith("x.toml:2: not reset: ")
    assert "stop its members first" in line


@pytest.mark.usefixtures("topic_apis")
@pytest.mark.parametrize(
    ("first", "second", "resource"),
    [
        (
            'reset_offsets"\ngroup = "g"\npartitions = ["orders-0"]\nto = "earliest"',
            'reset_offsets"\ngroup = "g"\ntopics = ["orders"]\nto = "latest"',
            "group_partition g orders-0",
        ),
        (
            'reset_offsets"\ngroup = "g"\npartitions = ["orders-0"]\nto = "earliest"',
            'delete_group"\ngroup = "g"\n',
            "group g",
        ),
        (
            'move_replicas"\nbroker = 1\npartitions = ["orders-0"]\nlog_dir = "/a"',
            'move_replicas"\nbroker = 1\npartitions = ["orders-0"]\nlog_dir = "/b"',
            "replica orders-0 on broker 1",
        ),
    ],
)
def test_actions_that_undo_each_other(
    state: FakeCluster, cluster: Cluster, first: str, second: str, resource: str
) -> None:
    """They are a fault also where the cluster is as one of them says: the next plan would do the other, and so on."""
    state.groups["g"] = FakeGroup(coordinator_id=1, commits={("orders", 0): FakeCommit(0)})
    line = first.count("\n") + 4
    plan = planned(cluster, f'[[actions]]\naction = "{first}\n[[actions]]\naction = "{second}\n')
    reason = f"it contradicts the action at x.toml:2 about {resource}: take one of them out"
    assert plan.faults == [f"x.toml:{line}: actions[2]: {reason}"]
    again = planned(cluster, f'[[actions]]\naction = "{first}\n[[actions]]\naction = "{first}\n')
    assert again.faults == []


def test_a_voter_with_a_new_disk_is_removed_and_then_added(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """One file says both: it was refused, with the advice to remove the voter first."""
    old, new = "AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAg"
    add = f"[[actions]]\naction = 'add_voter'\nvoter = 3\ndirectory_id = '{new}'\nlisteners = ['C://kafka-3:9093']\n"
    remove = f"[[actions]]\naction = 'remove_voter'\nvoter = 3\ndirectory_id = '{old}'\n"
    known = {3: Voter(directory_id=old)}
    monkeypatch.setattr(one_off_plan, "voters", lambda *_: known)
    plan = planned(cluster, remove + add)
    assert ([one.kind for one in plan.actions], plan.faults, plan.undone) == (["remove_voter"], [], [])
    assert plan.notes == ["x.toml:6: voter 3 is removed first: the next plan adds it"]
    assert planned(cluster, add).faults == [
        f"x.toml:2: actions[1]: voter 3 votes with directory {old}: remove it first"
    ]
    known.clear()
    assert [one.kind for one in planned(cluster, remove + add).actions] == ["add_voter"]
    known[3] = Voter(directory_id=new)
    plan = planned(cluster, remove + add)
    assert (plan.actions, plan.faults, plan.notes) == ([], [], [])
