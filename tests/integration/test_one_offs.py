"""One-time actions of a desired state are planned until the cluster shows that they are done."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from confluent_kafka.admin import NewTopic

from kafka_lagoon.apply.action import Guard
from kafka_lagoon.apply.desired.reading import read_desired
from kafka_lagoon.apply.execution import Execution, execute, make_plan
from kafka_lagoon.apply.kinds.cluster import voters
from kafka_lagoon.apply.outcomes import Outcome
from kafka_lagoon.apply.plan import PlanResult, plan_state
from kafka_lagoon.apply.recording import NoRecorder, Run
from kafka_lagoon.errors import ConfigError, PlanOutdated
from kafka_lagoon.kafka_settings import checked
from kafka_lagoon.topic_partition import TopicPartition
from tests.clock import CLOCK
from tests.integration import every_broker
from tests.integration.administered import Administered, soon
from tests.integration.hanging import hang, unverified
from tests.integration.kafka_tools import CONSUMER_GROUPS, TOPICS
from tests.integration.secured import LIMITED
from tests.integration.state import commit, create_topics, delete_topics, live_member, produce

TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand"
NAMES = ("once-a", "once-b", "once-kept")


@pytest.fixture(scope="module", autouse=True)
def topics(administered: Administered) -> Iterator[None]:
    """Make topics with records, and a topic that the files do not own."""
    servers = administered.bootstrap_servers
    create_topics(servers, [NewTopic("once-a", 2, 2), NewTopic("once-b", 1, replica_assignment=[[3, 1]])])
    create_topics(servers, [NewTopic("once-kept", 1, replica_assignment=[[3]])])
    for name in NAMES:
        produce(servers, name, 20)
    yield
    delete_topics(servers, list(NAMES))


class Desired:
    """Plans texts, and carries the plans out."""

    def __init__(self, administered: Administered, folder: Path) -> None:
        self._administered, self._file = administered, folder / "once.toml"

    def plan(self, text: str, user: str | None = None) -> PlanResult:
        with self._administered.cluster(user) as cluster:
            owns = 'topics = ["once-[ab].*"]\ngroups = ["once-.*"]'
            self._file.write_text(
                f'cluster_id = "{cluster.cluster_id}"\n[owns]\n{owns}\n[topics.once-a]\n[topics.once-b]\n{text}'
            )
            return plan_state(cluster, read_desired(str(self._file), CLOCK.now_ms()), soon())

    def carry_out(self, plan: PlanResult) -> Execution:
        with self._administered.cluster() as cluster:
            run = Run.new("apply", checked(self._administered.settings()), 0)
            whole = make_plan("default", plan.cluster_id, plan.actions)
            return execute(cluster, whole, frozenset(Guard), run, NoRecorder(), soon())

    def done(self, text: str) -> list[tuple[str, str]]:
        """Carry a plan out, check that the next one is empty, and return its actions."""
        plan = self.plan(text)
        assert not plan.failures
        done = self.carry_out(plan)
        assert [(one.action, one.failure) for one in done.results if one.outcome is not Outcome.DONE] == []
        every_broker.has_moved_replicas(self._administered.bootstrap_servers, NAMES)
        deadline = soon()
        while self.plan(text).actions and not deadline.passed():  # leaders and moves take a moment
            assert deadline.pause(0.1)
        return [(action.kind, action.resource.name) for action in plan.actions]


@pytest.fixture
def desired(administered: Administered, tmp_path: Path) -> Desired:
    return Desired(administered, tmp_path)


def action(name: str, **fields: object) -> str:
    """An entry of `actions`."""
    return f'[[actions]]\naction = "{name}"\n' + "".join(f"{key} = {value}\n" for key, value in fields.items())


def test_offsets_and_groups(administered: Administered, desired: Desired) -> None:
    """To an offset, the end, and a time of a record; then the group is deleted, as Kafka's own tool shows."""
    commit(administered.bootstrap_servers, "once-g", {("once-b", 0): 3})
    to = action("reset_offsets", group='"once-g"', topics='["once-b"]', to="7")
    assert desired.done(to) == [("alter_offsets", "once-g once-b-0")]
    shown = administered.tool(CONSUMER_GROUPS, "--describe", "--group", "once-g")
    assert re.search(r"once-b\s+0\s+7\s+20", shown), shown
    for where in ('"latest"', '"1970-01-01T00:00:00Z"'):
        to = action("reset_offsets", group='"once-g"', partitions='["once-b-0"]', to=where)
        assert desired.done(to) == [("alter_offsets", "once-g once-b-0")]
    (shifted,) = desired.plan(action("reset_offsets", group='"once-g"', topics='["once-b"]', shift="5")).actions
    assert (shifted.before, shifted.after) == ({"committed_offset": 0}, {"committed_offset": 5})
    assert desired.done(action("delete_group", group='"once-g"')) == [("delete_group", "once-g")]
    assert "once-g" not in administered.tool(CONSUMER_GROUPS, "--list")


def test_offsets_of_a_topic_that_was_created_again(administered: Administered, desired: Desired) -> None:
    """It begins at 0 again, has as many records, and the group has committed nothing: only the id tells that it is another."""
    servers = administered.bootstrap_servers
    create_topics(servers, [NewTopic("once-a-again", 1, 2)])
    produce(servers, "once-a-again", 20)
    commit(servers, "once-again", {("once-b", 0): 3})
    text = action("reset_offsets", group='"once-again"', topics='["once-a-again"]', to="7")
    text = text.replace("[[actions]]", "[topics.once-a-again]\n[[actions]]")
    plan = desired.plan(text)
    assert [one.before for one in plan.actions] == [None]
    delete_topics(servers, ["once-a-again"])
    create_topics(servers, [NewTopic("once-a-again", 1, 2)])
    produce(servers, "once-a-again", 20)
    with pytest.raises(PlanOutdated, match="topic once-a-again was deleted and created again"):
        desired.carry_out(plan)
    assert desired.done(text) == [("alter_offsets", "once-again once-a-again-0")]
    delete_topics(servers, ["once-a-again"])


def test_a_group_with_members(administered: Administered, desired: Desired) -> None:
    """Resetting its offsets has to wait, and a note is about deleting it: brokers would refuse both."""
    with live_member(administered.bootstrap_servers, "once-live", "once-b"):
        plan = desired.plan(action("reset_offsets", group='"once-live"', topics='["once-b"]', to='"latest"'))
        assert (plan.actions, plan.failures) == ([], [])
        assert "NON_EMPTY_GROUP" in plan.undone[0]
        plan = desired.plan(action("delete_group", group='"once-live"'))
        assert "has members" in plan.notes[0]


def test_records_are_deleted(desired: Desired) -> None:
    """Records before an offset are deleted; a deletion that is done is not planned again."""
    text = action("delete_records", partitions='["once-b-0"]', before="4")
    (planned,) = desired.plan(text).actions
    assert planned.guards == {Guard.RECORD_DELETION}
    assert desired.done(text) == [("delete_records", "once-b-0")]
    assert desired.done(action("delete_records", partitions='["once-b-0"]', before="2")) == []


def test_replicas_move(administered: Administered, desired: Desired) -> None:
    """A broker is emptied of owned topics; a replica is moved to another directory; leaders follow."""
    before = administered.tool(TOPICS, "--describe", "--topic", "once-b")
    assert "Replicas: 3,1" in before
    text = action("empty_broker", broker=3)
    plan = desired.plan(text)
    assert any("broker 3 keeps" in note for note in plan.notes)
    assert ("reassign_partition", "once-b-0") in desired.done(text)
    assert "Replicas: 3" in administered.tool(TOPICS, "--describe", "--topic", "once-kept")
    every_broker.names_replicas(administered.bootstrap_servers, "once-b", {1, 2})
    text = action("reassign_partitions", assignments="{ once-b-0 = [2, 1] }")
    assert desired.done(text) in ([], [("reassign_partition", "once-b-0")])
    every_broker.names_replicas(administered.bootstrap_servers, "once-b", {1, 2})
    desired.done(action("elect_leaders", topics='["once-b"]'))
    every_broker.names_leader(administered.bootstrap_servers, ["once-b"], 2)
    assert "Leader: 2" in administered.tool(TOPICS, "--describe", "--topic", "once-b")
    folders = [str(folder) for folder in administered.kafka.data_folders(2)]
    (there,) = [folder for folder in folders if (Path(folder) / "once-b-0").exists()]
    (other,) = {*folders} - {there}
    moved = desired.done(action("move_replicas", partitions='["once-b-0"]', broker=2, log_dir=f'"{other}"'))
    assert moved == [("move_replica", "once-b-0 on broker 2")]


@pytest.mark.proof
def test_a_hanging_transaction(administered: Administered, desired: Desired) -> None:
    """It is found by its first offset, as Kafka's own tool shows it."""
    with unverified(administered.kafka), administered.cluster() as cluster:
        hang(cluster, TopicPartition("once-a", 1), None, CLOCK.now_ms() - 3_600_000, soon())
    shown = administered.tool(TRANSACTIONS, "describe-producers", "--topic", "once-a", "--partition", "1")
    start_offset = max(int(line.split()[-1]) for line in shown.splitlines() if line[:1].isdecimal() and "None" not in line.split()[-1])  # fmt: skip
    wrong = action("abort_transaction", partition='"once-a-1"', start_offset=start_offset + 1)
    assert desired.plan(wrong).actions == []
    ((kind, name),) = desired.done(action("abort_transaction", partition='"once-a-1"', start_offset=start_offset))
    assert (kind, name.startswith("once-a-1 producer ")) == ("abort_transaction", True)


def test_voters(administered: Administered, desired: Desired) -> None:
    """A voter is removed only with its own directory, and not added again."""
    with administered.cluster() as cluster:
        known = voters(cluster, soon())
    assert isinstance(known, Mapping)
    voter_id, voter = next(iter(known.items()))
    listeners = '["CONTROLLER://localhost:9093"]'
    fields = {"voter": voter_id, "directory_id": f'"{voter.directory_id}"'}
    (removal,) = desired.plan(action("remove_voter", **fields)).actions
    assert (removal.kind, removal.guards) == ("remove_voter", {Guard.DELETIONS})
    other = {"voter": voter_id, "directory_id": '"AAAAAAAAAAAAAAAAAAAAAQ"'}
    assert desired.plan(action("remove_voter", **other)).actions == []
    assert desired.plan(action("add_voter", **fields, listeners=listeners)).actions == []
    with pytest.raises(ConfigError, match="remove it first"):
        desired.plan(action("add_voter", **other, listeners=listeners))
    (added,) = desired.plan(
        action("add_voter", voter=77, directory_id=other["directory_id"], listeners=listeners)
    ).actions
    assert added.kind == "add_voter"


def test_faults_that_the_cluster_shows(desired: Desired) -> None:
    """All missing and unowned resources are listed, with their lines."""
    text = (
        action("delete_records", topics='["once-kept", "once-none"]', before='"latest"')
        + action("reset_offsets", group='"other"', partitions='["once-a-9"]', to='"latest"')
        + action("move_replicas", topics='["once-a"]', broker=1, log_dir='"/nowhere"')
        + action("delete_records", partitions='["once-b-0"]', before="1000000")
        + action("elect_leaders", partitions='["once-a-7"]')
        + action("move_replicas", topics='["once-a"]', broker=9, log_dir='"/nowhere"')
    )
    with pytest.raises(ConfigError) as error:
        desired.plan(text)
    problems = [re.sub(r"^.*once.toml", "", problem) for problem in error.value.problems]
    assert [re.sub(r"broker 1 has .*", "broker 1 has ...", problem) for problem in problems] == [
        ":9: actions[1].topics: topic once-kept is not matched by owns.topics",
        ":9: actions[1].topics: there is no topic once-none",
        ":13: actions[2].group: other is not matched by owns.groups",
        ":20: actions[3].log_dir: broker 1 has ...",
        ":24: actions[4].before: once-b-0 ends at 20, before 1000000",
        ":27: actions[5].partitions: there is no partition once-a-7",
        ":31: actions[6].broker: there is no broker 9 (there are 1, 2, 3)",
    ]


def test_who_may_not_see_it(desired: Desired) -> None:
    """A hidden topic is a failure, and is not planned as if it did not exist."""
    plan = desired.plan("", user=LIMITED)
    assert plan.actions == []
    assert "TOPIC_AUTHORIZATION_FAILED" in {failure.name for failure in plan.failures}
