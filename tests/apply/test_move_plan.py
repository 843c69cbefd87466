"""Target replicas of partitions, from every section of a desired state that can move partitions."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_lagoon.apply import move_plan, proposals
from kafka_lagoon.apply.action import Action
from kafka_lagoon.apply.kinds.partitions import partition_of
from kafka_lagoon.apply.live import Live, LiveTopic
from kafka_lagoon.apply.move_plan import left_on, move_actions, needs_moves
from kafka_lagoon.apply.proposals import Loads
from kafka_lagoon.topic_partition import TopicPartition
from tests.apply.lives import desired, live, topic
from tests.comparisons import Comparisons


def moved(actions: list[Action]) -> dict[str, list[int]]:
    return {action.resource.name: (action.after or {})["replicas"] for action in actions}


def moving(
    cluster: Live, name: str, replicas: tuple[int, ...], adding: tuple[int, ...], removing: tuple[int, ...]
) -> Live:
    """The cluster while partition 0 of a topic is being moved."""
    known = cluster.topics[name]
    partition = replace(known.partitions[0], replicas=replicas, adding=adding, removing=removing)
    topics = {**cluster.topics, name: replace(known, partitions={**known.partitions, 0: partition})}
    return replace(cluster, topics=topics)


CLUSTER = live(
    {"a": topic("a", [[1, 2], [2, 3]]), "b": topic("b", [[3]]), "__x": topic("__x", [[3, 1]], internal=True)}
)


def test_what_is_assigned_and_where_it_is_already() -> None:
    """Targets of assignments and replication factors, in topics and actions; partitions already in place have none."""
    text = "[topics.a]\nassignments = [[1, 2], [3, 2], [1, 3]]\n[topics.b]\nreplication_factor = 2\n"
    actions, faults = move_actions(desired(text), CLUSTER)
    assert not faults
    assert moved(actions) == {"a-1": [3, 2], "b-0": [3, 1]}
    assert [action.source for action in actions] == ["x.toml:3", "x.toml:5"]
    text = '[[actions]]\naction = "reassign_partitions"\nassignments = { a-0 = [1, 2], b-0 = [1] }\n'
    assert moved(move_actions(desired(text), CLUSTER)[0]) == {"b-0": [1]}


def test_a_broker_is_emptied_after_what_is_assigned() -> None:
    """Written assignments have precedence; internal topics are moved, too; topics that the file does not own stay."""
    text = "[topics.b]\nassignments = [[2]]\n[[actions]]\naction = 'empty_broker'\nbroker = 3\n"
    actions, faults = move_actions(desired(text), CLUSTER)
    assert not faults
    assert moved(actions) == {"a-1": [2, 1], "b-0": [2], "__x-0": [1, 2]}
    owns = desired(f"[owns]\ntopics = ['b']\n{text}")
    assert moved(move_actions(owns, CLUSTER)[0]) == {"b-0": [2]}
    assert left_on(owns, CLUSTER) == ["broker 3 keeps 2 replicas of topics that owns.topics does not match"]
    assert left_on(desired(text), CLUSTER) == []
    in_part = desired(f"[owns]\ntopics = ['b']\n{text}topics = ['b']\n")
    assert left_on(in_part, CLUSTER) == []  # nobody wants the broker to be empty


def test_replicas_of_all_partitions_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each topic with another replication factor changes the counts, as assignments do: 200 topics of 100 partitions took 1.6 s."""
    counted = list[object]()

    class CountedLoads(Loads):
        """Loads of brokers that are noted when they are counted."""

        def __init__(self, replicas: Any) -> None:
            counted.append(replicas)
            super().__init__(replicas)

    monkeypatch.setattr(move_plan, "Loads", CountedLoads)
    monkeypatch.setattr(proposals, "Loads", CountedLoads)
    names = [f"t{number}" for number in range(13)]
    cluster = live({name: topic(name, [[1]]) for name in ("a", *names)}, brokers=4)
    text = "".join(f"[topics.{name}]\nreplication_factor = 2\n" for name in names)
    actions, faults = move_actions(desired(f"[topics.a]\nassignments = [[2]]\n{text}"), cluster)
    assert not faults
    assert len(counted) == 1
    added = Counter(replicas[1] for name, replicas in moved(actions).items() if name != "a-0")
    assert added == {2: 6, 3: 7}  # broker 2 has the replica of a-0, too


def test_two_brokers_are_emptied() -> None:
    """No replica goes from one of them to the other, and a partition that both have leaves both."""
    cluster = live({"a": topic("a", [[1, 2], [1, 3], [3, 2]]), "b": topic("b", [[1]])}, brokers=4)
    empty = "[[actions]]\naction = 'empty_broker'\nbroker = {}\n"
    actions, faults = move_actions(desired(empty.format(1) + empty.format(2)), cluster)
    assert not faults
    targets = moved(actions)
    assert set(targets) == {"a-0", "a-1", "a-2", "b-0"}
    assert all(set(replicas) <= {3, 4} for replicas in targets.values())
    in_part = f"{empty.format(1)}{empty.format(2)}topics = ['b']\n"
    targets = moved(move_actions(desired(in_part), live({"a": topic("a", [[1, 3]])}, brokers=3))[0])
    assert targets == {"a-0": [2, 3]}  # broker 2 is emptied of another topic only


def test_a_broker_is_emptied_of_new_replicas() -> None:
    """A replica that another replication factor would add there goes elsewhere."""
    cluster = live({"a": topic("a", [[2, 4]]), "b": topic("b", [[2, 4]])}, brokers=4)
    text = "[topics.a]\nreplication_factor = 3\n[[actions]]\naction = 'empty_broker'\nbroker = 1\n"
    actions, faults = move_actions(desired(text), cluster)
    assert not faults
    assert sorted(moved(actions)["a-0"]) == [2, 3, 4]


def test_what_is_assigned_takes_the_place_of_a_proposal() -> None:
    """A replication factor does not say which brokers, so an assignment with as many is no other; one with fewer is."""
    text = "[topics.b]\nreplication_factor = 2\n[[actions]]\naction = 'reassign_partitions'\nassignments = {{ b-0 = {} }}\n"
    actions, faults = move_actions(desired(text.format("[2, 3]")), CLUSTER)
    assert not faults
    assert moved(actions) == {"b-0": [2, 3]}
    assert [action.source for action in actions] == ["x.toml:6"]
    _, faults = move_actions(desired(text.format("[2]")), CLUSTER)
    assert faults == ["x.toml:6: actions[1].assignments.b-0: b-0 is assigned elsewhere too, at x.toml:3"]


def test_faults_of_moves() -> None:
    """Missing partitions and brokers, partitions that are assigned twice, and partitions without another possible broker."""
    text = """
[topics.a]
assignments = [[1, 3], [2, 3]]
[[actions]]
action = "reassign_partitions"
assignments = { a-0 = [2], a-7 = [1], b-0 = [9] }
[[actions]]
action = "empty_broker"
broker = 9
[[actions]]
action = "empty_broker"
broker = 3
topics = ["nothing", "a"]
"""
    _, faults = move_actions(desired(text), CLUSTER)
    assert faults == [
        "x.toml:7: actions[1].assignments.a-0: a-0 is assigned elsewhere too, at x.toml:4",
        "x.toml:7: actions[1].assignments.a-7: there is no such partition",
        "x.toml:7: actions[1].assignments.b-0: there is no broker 9 (there are 1, 2, 3)",
        "x.toml:10: actions[2].broker: there is no broker 9 (there are 1, 2, 3)",
        "x.toml:14: actions[3].topics: there is no topic nothing",
        "x.toml:11: actions[3]: a-0 is assigned elsewhere too, at x.toml:4",
        "x.toml:11: actions[3]: a-1 is assigned elsewhere too, at x.toml:4",
    ]
    only_two = live({"a": topic("a", [[1, 2]])}, brokers=2)
    _, faults = move_actions(desired("[[actions]]\naction = 'empty_broker'\nbroker = 2\n"), only_two)
    assert faults == ["x.toml:2: actions[1]: a-0 has 2 replicas, and no other broker is left for one of them"]


def test_a_broker_that_does_not_run() -> None:
    """It is emptied if it has replicas, and that is done if it has none; an assignment may leave a replica there, but not add one."""
    cluster = live({"a": topic("a", [[1, 9]]), "b": topic("b", [[2]])})
    actions, faults = move_actions(desired("[[actions]]\naction = 'empty_broker'\nbroker = 9\n"), cluster)
    assert (moved(actions), faults) == ({"a-0": [1, 3]}, [])
    emptied = replace(live({"a": topic("a", [[1, 3]])}), down=frozenset({9}))
    assert move_actions(desired("[[actions]]\naction = 'empty_broker'\nbroker = 9\n"), emptied) == ([], [])
    text = "[[actions]]\naction = 'reassign_partitions'\nassignments = {{ {} }}\n"
    actions, faults = move_actions(desired(text.format("a-0 = [2, 9]")), cluster)
    assert (moved(actions), faults) == ({"a-0": [2, 9]}, [])
    _, faults = move_actions(desired(text.format("b-0 = [9]")), cluster)
    assert faults == ["x.toml:4: actions[1].assignments.b-0: there is no broker 9 (there are 1, 2, 3)"]


def test_an_assignment_that_is_written_twice() -> None:
    """Equal assignments do not contradict each other; the first place is named."""
    again = "[[actions]]\naction = 'reassign_partitions'\nassignments = { a-0 = [2, 1] }\n"
    actions, faults = move_actions(desired(f"[topics.a]\nassignments = [[2, 1], [2, 3]]\n{again}"), CLUSTER)
    assert (moved(actions), faults) == ({"a-0": [2, 1]}, [])
    assert [action.source for action in actions] == ["x.toml:3"]


def test_topics_that_are_not_owned_stay() -> None:
    """Their partitions cannot be assigned, and their moves go on if moves are cancelled without a choice."""
    owns = "[owns]\ntopics = ['a']\n[topics.a]\n[[actions]]\naction = "
    assigned = desired(f"{owns}'reassign_partitions'\nassignments = {{ b-0 = [1] }}\n")
    actions, faults = move_actions(assigned, CLUSTER)
    assert actions == []
    assert faults == ["x.toml:7: actions[1].assignments.b-0: topic b is not matched by owns.topics"]
    cluster = moving(moving(CLUSTER, "a", (1, 2, 3), (3,), ()), "b", (3, 1), (1,), ())
    actions, faults = move_actions(desired(f"{owns}'cancel_reassignments'\n"), cluster)
    assert ([action.resource.name for action in actions], faults) == (["a-0"], [])


@pytest.mark.parametrize("action", ["cancel_reassignments", "empty_broker"])
def test_what_is_named_exists_and_may_be_touched(action: str) -> None:
    """A topic or partition that is not there or not owned is a fault: passing it over would look like being done."""
    text = f"[owns]\ntopics = ['a']\n[[actions]]\naction = '{action}'\n"
    text += "broker = 3\n" if action == "empty_broker" else "partitions = ['a-7', 'b-0', 'c-0']\n"
    _, faults = move_actions(desired(f"{text}topics = ['a', 'b', 'nothing']\n"), CLUSTER)
    of_topics = [
        "x.toml:7: actions[1].topics: topic b is not matched by owns.topics",
        "x.toml:7: actions[1].topics: there is no topic nothing",
    ]
    of_partitions = [
        "x.toml:6: actions[1].partitions: there is no partition a-7",
        "x.toml:6: actions[1].partitions: topic b is not matched by owns.topics",
        "x.toml:6: actions[1].partitions: there is no partition c-0",
    ]
    assert faults == of_topics + (of_partitions if action == "cancel_reassignments" else [])


def test_moves_under_way() -> None:
    """A move to the right target is left alone, another is replaced or cancelled; replacing and cancelling is a fault."""
    cluster = moving(CLUSTER, "a", (3, 2, 1), (3,), (1,))
    assert move_actions(desired("[topics.a]\nassignments = [[3, 2], [2, 3]]\n"), cluster) == ([], [])
    (action,), _ = move_actions(desired("[topics.a]\nassignments = [[1, 2], [2, 3]]\n"), cluster)
    assert action.before == {"replicas": [3, 2, 1], "adding": [3], "removing": [1]}
    cancel = "[[actions]]\naction = 'cancel_reassignments'\n"
    (action,), _ = move_actions(desired(cancel), cluster)
    assert (action.kind, action.resource.name) == ("cancel_reassignment", "a-0")
    assert move_actions(desired(cancel), CLUSTER) == ([], [])
    for adding, removing in (((3,), ()), ((), (1,))):  # the number of replicas changes
        (action,), _ = move_actions(desired(cancel), moving(CLUSTER, "a", (1, 2, 3), adding, removing))
        assert (action.kind, action.resource.name) == ("cancel_reassignment", "a-0")
    _, faults = move_actions(desired(f"{cancel}[topics.a]\nassignments = [[1, 2], [2, 3]]\n"), cluster)
    assert faults == ["x.toml:2: actions[1]: the move of a-0 is to be cancelled, and another is wanted"]


def test_when_moves_under_way_have_to_be_known() -> None:
    """Moves are listed only if partitions may have to be moved, because listing takes a permission on the cluster."""
    assert not needs_moves(desired("[topics.a]\nreplication_factor = 2\n"), CLUSTER.topics)
    assert needs_moves(desired("[topics.a]\nreplication_factor = 3\n"), CLUSTER.topics)
    assert needs_moves(
        desired("[topics.a]\nreplication_factor = 2\n[topics.b]\nreplication_factor = 2\n"), CLUSTER.topics
    )
    assert needs_moves(desired("[[actions]]\naction = 'empty_broker'\nbroker = 9\n"), CLUSTER.topics)


def test_a_move_that_makes_the_number_of_replicas_look_right() -> None:
    """While a replica is replaced there is one more, which is not in sync: without the move the plan would be empty."""
    text = "[topics.a]\nreplication_factor = 3\n"
    cluster = live({"a": topic("a", [[1, 3, 2]])})
    (partition,) = cluster.topics["a"].metadata.partitions

    def topics_with(**other: tuple[int, ...]) -> dict[str, LiveTopic]:
        metadata = replace(cluster.topics["a"].metadata, partitions=(replace(partition, **other),))
        return {"a": replace(cluster.topics["a"], metadata=metadata)}

    assert not needs_moves(desired(text), cluster.topics)
    assert needs_moves(desired(text), topics_with(isr_nodes=(1, 2)))
    assert not needs_moves(desired(text), topics_with(isr_nodes=(1, 2), offline_replicas=(3,)))
    assert not needs_moves(desired("[topics.a]\n"), topics_with(isr_nodes=(1, 2)))
    (action,), _ = move_actions(desired(text), moving(cluster, "a", (1, 3, 2), (3,), (2,)))
    assert (action.after or {})["replicas"] == [1, 3, 2]


@pytest.mark.parametrize(
    ("topic_text", "action_text", "fault"),
    [
        (
            "assignments = [[3]]",
            "empty_broker'\nbroker = 3",
            "x.toml:4: actions[1]: b-0 is assigned elsewhere too, at x.toml:3",
        ),
        (
            "assignments = [[3]]",
            "reassign_partitions'\nassignments = { b-0 = [1] }",
            "x.toml:6: actions[1].assignments.b-0: b-0 is assigned elsewhere too, at x.toml:3",
        ),
        (
            "replication_factor = 1",
            "reassign_partitions'\nassignments = { b-0 = [1, 2] }",
            "x.toml:6: actions[1].assignments.b-0: b-0 is assigned elsewhere too, at x.toml:3",
        ),
        (
            "assignments = [[3], [2]]",
            "empty_broker'\nbroker = 2\ntopics = ['b']",
            "x.toml:4: actions[1]: b-1 is to be created there, at x.toml:3",
        ),
    ],
)
def test_an_action_contradicts_what_the_cluster_has_already(topic_text: str, action_text: str, fault: str) -> None:
    """It is a fault at once: otherwise each plan would undo the one before, or the second would be refused."""
    _, faults = move_actions(desired(f"[topics.b]\n{topic_text}\n[[actions]]\naction = '{action_text}\n"), CLUSTER)
    assert faults == [fault]


def test_a_new_topic_on_a_broker_that_is_emptied() -> None:
    """Its replicas would be moved away by the second plan, and back by the third."""
    text = "[topics.new]\nassignments = [[1], [3]]\n[[actions]]\naction = 'empty_broker'\nbroker = 3\n"
    _, faults = move_actions(desired(text), CLUSTER)
    assert faults == ["x.toml:4: actions[1]: new-1 is to be created there, at x.toml:3"]
    _, faults = move_actions(desired(f"{text}topics = ['a']\n"), CLUSTER)
    assert faults == []


def test_the_topics_of_emptied_brokers_are_looked_up() -> None:
    """They are not searched for in the list of each action: with 10,000 names and three brokers that took seconds."""
    compared = Comparisons()
    names = [compared.counting(f"t{number}") for number in range(60)]
    cluster = live({name: topic(name, [[1]]) for name in [*names, "other"]})
    listed = ", ".join(f"'{name}'" for name in names)
    text = "".join(f"[[actions]]\naction = 'empty_broker'\nbroker = {one}\ntopics = [{listed}]\n" for one in (1, 3))
    results = list[Any]()
    assert compared.during(lambda: results.append(move_actions(desired(text), cluster))) < 60 * len(names)
    assert (len(results[0][0]), results[0][1]) == (60, [])


def test_a_move_that_the_file_wants_is_not_cancelled() -> None:
    """The next plan would begin it again; a move that changes nothing of what is written is cancelled."""
    cancel = "[[actions]]\naction = 'cancel_reassignments'\n"
    wanted = ["x.toml:2: actions[1]: the move of a-0 is to be cancelled, and the file wants it, too"]
    adding, replacing = moving(CLUSTER, "a", (1, 2, 3), (3,), ()), moving(CLUSTER, "a", (3, 2, 1), (3,), (1,))
    text = f"{cancel}[topics.a]\nassignments = [[3, 2], [2, 3]]\n"
    assert move_actions(desired(text), replacing)[1] == wanted
    text = f"{cancel}[[actions]]\naction = 'empty_broker'\nbroker = 1\ntopics = ['a']\n"
    assert move_actions(desired(text), replacing)[1] == wanted
    text = f"{cancel}[topics.a]\nreplication_factor = 2\n"
    (action,), faults = move_actions(desired(text), replacing)
    assert (action.kind, faults) == ("cancel_reassignment", [])
    thin = live({"a": topic("a", [[1, 2]])})
    text = f"{cancel}[topics.a]\nreplication_factor = 3\n"
    assert move_actions(desired(text), moving(thin, "a", (1, 2, 3), (3,), ()))[1] == wanted
    assert move_actions(desired(f"{cancel}[topics.a]\nreplication_factor = 3\n"), adding)[1] != []


REPLICAS = st.permutations([1, 2, 3, 4]).flatmap(lambda ids: st.integers(1, 3).map(lambda factor: ids[:factor]))
PLACED = st.lists(REPLICAS, min_size=1, max_size=2).filter(lambda rows: len(set(map(len, rows))) == 1)
WRITTEN = st.one_of(
    st.sampled_from(["", "as it is", "factor as it is"]),
    st.integers(1, 3).map("replication_factor = {}".format),
    PLACED.map("assignments = {}".format),
)
ACTIONS = st.one_of(
    st.builds("empty_broker'\nbroker = {}".format, st.integers(1, 4)),
    st.builds("empty_broker'\nbroker = {}\ntopics = ['a']".format, st.integers(1, 4)),
    st.builds("reassign_partitions'\nassignments = {{ a-0 = {} }}".format, REPLICAS),
)


@given(st.tuples(PLACED, PLACED), st.tuples(WRITTEN, WRITTEN), st.lists(ACTIONS, max_size=2))
def test_after_the_moves_nothing_is_left_to_move(
    placed: tuple[list[list[int]], list[list[int]]], written: tuple[str, str], actions: list[str]
) -> None:
    """A plan that has no faults is followed by an empty one."""
    text = ""
    for name, rows, line in zip("ab", placed, written, strict=True):
        as_it_is = {"as it is": f"assignments = {rows}", "factor as it is": f"replication_factor = {len(rows[0])}"}
        text += f"[topics.{name}]\n{as_it_is.get(line, line)}\n"
    state = desired(text + "".join(f"[[actions]]\naction = '{one}\n" for one in actions))
    there = {
        TopicPartition(name, number): tuple(row)
        for name, rows in zip("ab", placed, strict=True)
        for number, row in enumerate(rows)
    }

    def cluster() -> Live:
        rows = {name: [there[one] for one in sorted(there) if one.topic == name] for name in "ab"}
        return live({name: topic(name, some) for name, some in rows.items()}, brokers=4)

    planned, faults = move_actions(state, cluster())
    if not faults:
        there |= {partition_of(action.resource): tuple((action.after or {})["replicas"]) for action in planned}
        assert move_actions(state, cluster()) == ([], [])
