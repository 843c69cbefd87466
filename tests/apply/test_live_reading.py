"""The state that a plan begins with is what two brokers describe; real clusters are read in integration/test_plan.py."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from kafka_lagoon.apply import live_reading
from kafka_lagoon.apply.checks import faults_of
from kafka_lagoon.apply.diff import diff
from kafka_lagoon.apply.imports import import_state
from kafka_lagoon.apply.live import Live
from kafka_lagoon.apply.live_reading import Wanted, read_live
from kafka_lagoon.apply.one_off_plan import plan_one_offs
from kafka_lagoon.apply.plan import plan_state, wanted_of
from kafka_lagoon.cli.output import failure_lines
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.protocol.messages.consumer_group_describe import CONSUMER_GROUP_DESCRIBE
from kafka_lagoon.protocol.messages.describe_acls import DESCRIBE_ACLS
from kafka_lagoon.protocol.messages.describe_client_quotas import DESCRIBE_CLIENT_QUOTAS
from kafka_lagoon.protocol.messages.describe_cluster import (
    DESCRIBE_CLUSTER,
    DescribeClusterBroker,
    DescribeClusterResponse,
)
from kafka_lagoon.protocol.messages.describe_configs import BROKER, CLIENT_METRICS, DESCRIBE_CONFIGS, GROUP
from kafka_lagoon.protocol.messages.describe_user_scram_credentials import DESCRIBE_USER_SCRAM_CREDENTIALS
from kafka_lagoon.protocol.messages.list_config_resources import LIST_CONFIG_RESOURCES
from kafka_lagoon.protocol.messages.list_partition_reassignments import (
    LIST_PARTITION_REASSIGNMENTS,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from kafka_lagoon.protocol.messages.metadata import METADATA, MetadataResponse
from tests.admin.conftest import altering_apis, cluster, soon, topic_apis
from tests.apply.lives import desired
from tests.comparisons import Comparisons
from tests.fake import resources
from tests.fake.answers import SPOKEN
from tests.fake.cluster import FakeCluster, FakeGroup
from tests.fake.faults import Altered, Fault
from tests.security_samples import scram_user

__all__ = ["altering_apis", "cluster", "topic_apis"]  # fixtures of tests/admin


def _is_behind(metadata: MetadataResponse) -> MetadataResponse:
    """Name neither the last broker nor the last partition of a topic."""
    topics = (replace(topic, partitions=topic.partitions[:-1]) for topic in metadata.topics)
    return replace(metadata, brokers=metadata.brokers[:-1], topics=tuple(topics))


def test_a_broker_that_is_behind(state: FakeCluster, cluster: Cluster) -> None:
    """Its description of the cluster is not what alterations are planned from."""
    state.faults.append(Fault(METADATA.key, Altered(_is_behind), node_id=1, times=1_000))
    live = read_live(cluster, Wanted(), soon())
    assert sorted(live.racks) == [1, 2, 3]
    assert len(live.topics["orders"].partitions) == 6
    assert live.failures == []


def test_a_topic_that_may_be_there(state: FakeCluster, cluster: Cluster) -> None:
    """A topic that is not listed, and that we may not describe, is not planned as a new one: it is a failure of the plan."""

    def refuse(metadata: MetadataResponse) -> MetadataResponse:
        topics = (
            replace(one, error_code=29, partitions=()) if one.name == "secret" else one for one in metadata.topics
        )
        return replace(metadata, topics=tuple(topics))

    state.faults.append(Fault(METADATA.key, Altered(refuse), times=1_000))
    state_of_file = desired("[topics.secret]\n")
    live = read_live(cluster, wanted_of(state_of_file), soon())
    assert [str(failure.scope) for failure in live.failures] == ["topic secret"]
    assert diff(state_of_file, live) == []


@pytest.mark.parametrize(
    "text",
    [
        "[owns]\ntopics = ['or.*']\n",
        "[[actions]]\naction = 'elect_leaders'\n",
        "[[actions]]\naction = 'empty_broker'\nbroker = 1\ntopics = ['orders']\n",
        "[[actions]]\naction = 'cancel_reassignments'\npartitions = ['orders-0']\n",
        "[[actions]]\naction = 'reassign_partitions'\nassignments = { 'orders-0' = [1] }\n",
        "[[actions]]\naction = 'abort_transaction'\npartition = 'orders-0'\nstart_offset = 40\n",
    ],
)
def test_a_listed_topic_that_brokers_cannot_describe(state: FakeCluster, cluster: Cluster, text: str) -> None:
    """Where the file owns it, or an action is about it, it is a failure of the plan: it is not as if it did not exist."""

    def without(metadata: MetadataResponse) -> MetadataResponse:
        topics = (
            replace(one, error_code=56, partitions=()) if one.name == "orders" else one for one in metadata.topics
        )
        return replace(metadata, topics=tuple(topics))

    state.faults.append(Fault(METADATA.key, Altered(without), times=1_000))
    state_of_file = replace(desired(text), cluster_id=cluster.cluster_id or "")
    plan = plan_state(cluster, state_of_file, soon())
    failures = [(str(one.scope), one.name) for one in plan.failures if one.api == METADATA.name]
    assert failures == [("topic orders", "KAFKA_STORAGE_ERROR")]
    assert all(action.resource.type != "topic" or action.resource.name != "orders" for action in plan.actions)


def test_a_topic_that_is_described_only_when_asked_again(state: FakeCluster, cluster: Cluster) -> None:
    """The list has an error of a topic that the file describes, and no partitions: it exists, and is not created."""
    state.add_topic("other", 1)

    def without(metadata: MetadataResponse) -> MetadataResponse:
        if len(metadata.topics) < len(state.topics):  # topics were asked for by name
            return metadata
        topics = (
            replace(one, error_code=56, partitions=()) if one.name == "orders" else one for one in metadata.topics
        )
        return replace(metadata, topics=tuple(topics))

    state.faults.append(Fault(METADATA.key, Altered(without), times=1_000))
    state_of_file = replace(desired("[topics.orders]\n"), cluster_id=cluster.cluster_id or "")
    plan = plan_state(cluster, state_of_file, soon())
    assert [(str(one.scope), one.name) for one in plan.failures] == [("topic orders", "KAFKA_STORAGE_ERROR")]
    assert plan.actions == []


def test_a_topic_that_may_be_on_brokers_that_are_down(state: FakeCluster, cluster: Cluster) -> None:
    """Settings of a topic that cannot be described may be so already: that is a failure of the plan, and no fault."""

    def without(metadata: MetadataResponse) -> MetadataResponse:
        topics = tuple(
            replace(one, error_code=56, partitions=()) if one.name == "orders" else one for one in metadata.topics
        )
        return replace(metadata, brokers=tuple(one for one in metadata.brokers if one.node_id != 3), topics=topics)

    state.faults.append(Fault(METADATA.key, Altered(without), times=1_000))
    for text in ("replication_factor = 3\n", "assignments = [[1, 3]]\n"):
        state_of_file = replace(desired(f"[topics.orders]\n{text}"), cluster_id=cluster.cluster_id or "")
        plan = plan_state(cluster, state_of_file, soon())
        assert [(str(one.scope), one.name) for one in plan.failures] == [("topic orders", "KAFKA_STORAGE_ERROR")]


def test_a_listed_topic_that_is_none_of_the_files(state: FakeCluster, cluster: Cluster) -> None:
    """An error of a topic that the file neither owns nor names is no failure of its plan."""

    def without(metadata: MetadataResponse) -> MetadataResponse:
        return replace(metadata, topics=tuple(replace(one, error_code=56, partitions=()) for one in metadata.topics))

    state.faults.append(Fault(METADATA.key, Altered(without), times=1_000))
    state_of_file = desired("[owns]\ntopics = ['own-.*']\n[[actions]]\naction = 'elect_leaders'\n")
    assert read_live(cluster, wanted_of(state_of_file), soon()).failures == []


@pytest.mark.usefixtures("altering_apis", "topic_apis")
@pytest.mark.parametrize(
    ("action", "key"),
    [
        ("action = 'elect_leaders'\ntopics = ['gone']\n", "topics"),
        ("action = 'delete_records'\nbefore = 1\npartitions = ['gone-0']\n", "partitions"),
        ("action = 'empty_broker'\nbroker = 1\ntopics = ['gone']\n", "topics"),
        ("action = 'reassign_partitions'\nassignments = { 'gone-0' = [2] }\n", "assignments.gone-0"),
        ("action = 'abort_transaction'\npartition = 'gone-0'\nstart_offset = 40\n", "partition"),
    ],
)
def test_an_action_about_a_topic_that_the_file_deletes(
    state: FakeCluster, cluster: Cluster, action: str, key: str
) -> None:
    """The first plan refuses it: after the deletion every plan would, and the schedule would stop."""
    (partition,) = state.add_topic("gone", 1).partitions
    partition.replicas, partition.isr, partition.leader_id = (1,), (1,), 1
    cluster.refresh(None, soon())
    text = f"[owns]\ntopics = ['gone']\n[[actions]]\n{action}"
    state_of_file = replace(desired(text), cluster_id=cluster.cluster_id or "")
    with pytest.raises(ConfigError) as refused:
        plan_state(cluster, state_of_file, soon())
    (fault,) = refused.value.problems
    reason = "topic gone is to be deleted, as owns.topics matches it and the file does not describe it"
    assert fault.endswith(f": actions[1].{key}: {reason}")


@pytest.mark.usefixtures("altering_apis")
def test_an_action_about_all_topics_leaves_out_those_that_the_file_deletes(
    state: FakeCluster, cluster: Cluster
) -> None:
    """An election that had to wait there kept the deletion from being sent; a move copied what is deleted next."""
    (partition,) = state.add_topic("gone", 1).partitions
    partition.replicas, partition.isr, partition.leader_id = (1, 2), (2,), 2
    cluster.refresh(None, soon())
    text = (
        "[owns]\ntopics = ['gone']\n"
        "[[actions]]\naction = 'elect_leaders'\n"
        "[[actions]]\naction = 'empty_broker'\nbroker = 2\n"
    )
    state_of_file = replace(desired(text), cluster_id=cluster.cluster_id or "")
    plan = plan_state(cluster, state_of_file, soon())
    assert ([one.kind for one in plan.actions], plan.undone) == (["delete_topic"], [])
    kept = replace(desired(f"{text}[topics.gone]\n"), cluster_id=cluster.cluster_id or "")
    plan = plan_state(cluster, kept, soon())
    assert "reassign_partition" in [one.kind for one in plan.actions]
    assert plan.undone == ["x.toml:4: 1 partitions are moved first: not elected yet"]


def test_a_partition_that_was_added_and_moved_meanwhile(state: FakeCluster, cluster: Cluster) -> None:
    """The plan is about the partitions that metadata listed: for another one an election would end in a traceback."""
    moves = tuple(
        OngoingPartitionReassignment(
            partition_index=number, replicas=(1, 2), adding_replicas=(2,), removing_replicas=()
        )
        for number in (5, 6)
    )
    state.reassignments = (OngoingTopicReassignment(name="orders", partitions=moves),)
    text = "[[actions]]\naction = 'cancel_reassignments'\n[[actions]]\naction = 'elect_leaders'\n"
    state_of_file = desired(text)
    live = read_live(cluster, wanted_of(state_of_file), soon())
    assert sorted(live.topics["orders"].partitions) == [0, 1, 2, 3, 4, 5]
    assert live.topics["orders"].partitions[5].adding == (2,)
    assert plan_one_offs(cluster, state_of_file, live, soon()).faults == []


def test_the_time_to_read_configs_is_linear(
    state: FakeCluster, connect: Callable[[], Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names are looked up, and not searched for in a list: 100,000 topics took minutes."""
    compared = Comparisons()
    names = [compared.counting(f"t{number}") for number in range(60)]
    for name in names:
        state.add_topic(str(name), 1)
    monkeypatch.setattr(live_reading, "config_values", lambda _cluster, resources, _: {key: {} for key in resources})
    wanted = Wanted(configs={"topic": names, "group": names})
    live = list[Live]()
    cluster = connect()
    assert compared.during(lambda: live.append(read_live(cluster, wanted, soon()))) < 20 * len(names)
    assert list(live[0].configs["topic"]) == names == sorted(live[0].configs["group"], key=names.index)


@pytest.mark.usefixtures("altering_apis", "topic_apis")
def test_a_topic_that_is_left_out_of_an_import_is_a_failure(state: FakeCluster, cluster: Cluster) -> None:
    """Topics that cannot be described, and those with impossible names, are not in the file, which must not look whole."""

    def spoil(metadata: MetadataResponse) -> MetadataResponse:
        refused = replace(metadata.topics[0], name="broken", error_code=-1, partitions=())
        deleted = replace(refused, name="gone", error_code=3)
        return replace(
            metadata, topics=(*metadata.topics, refused, deleted, replace(refused, name="a/b", error_code=0))
        )

    state.faults.append(Fault(METADATA.key, Altered(spoil), times=1_000))
    imported = import_state(cluster, soon())
    assert "orders" in imported.state["topics"]
    failed = {(str(failure.scope), failure.name) for failure in imported.failures}
    assert {("topic broken", "UNKNOWN_SERVER_ERROR"), ("topic a/b", "NAME_REFUSED")} <= failed
    assert not any(scope == "topic gone" for scope, _ in failed)
    live = read_live(cluster, Wanted(configs={"topic": ["orders"]}), soon())
    assert live.failures == []  # a plan of other topics need not know them


@pytest.mark.usefixtures("altering_apis", "topic_apis")
def test_what_cannot_be_read_is_a_failure(state: FakeCluster, connect: Callable[[], Cluster]) -> None:
    """Every part that brokers do not show is named, and known to be unknown: a plan without it would look complete."""
    apis = (DESCRIBE_ACLS, DESCRIBE_CLIENT_QUOTAS, DESCRIBE_USER_SCRAM_CREDENTIALS, LIST_PARTITION_REASSIGNMENTS, DESCRIBE_CONFIGS)  # fmt: skip
    wanted = Wanted(
        configs={"topic": ["orders"]}, acls=True, quotas=True, scram_users=True, reassignments=lambda _: True
    )
    state.acls = ()
    live = read_live(connect(), wanted, soon())
    assert live.failures == []
    assert None not in (live.acls, live.quotas, live.scram_users)
    state.missing = {node: {api.key for api in apis} for node in (1, 2, 3)}
    live = read_live(connect(), wanted, soon())
    assert {failure.api for failure in live.failures} == {api.name for api in apis}
    assert (live.acls, live.quotas, live.scram_users, live.configs["topic"]) == (None, None, None, {})


@pytest.mark.usefixtures("altering_apis", "topic_apis")
def test_owned_principals_of_which_a_cluster_has_only_acls_or_only_users(
    state: FakeCluster, connect: Callable[[], Cluster]
) -> None:
    """Without an authorizer no ACL is left to delete: a file that owns principals can be applied, unless it names ACLs."""
    owns = '[owns]\nprincipals = [".*"]\n'
    rule = (
        '[[acls]]\nprincipal = "User:a"\nresource_type = "TOPIC"\nresource_name = "t"\n'
        'operation = "READ"\npermission = "ALLOW"\n'
    )

    def failed(text: str) -> list[str]:
        with connect() as cluster:
            wanted = replace(desired(text), cluster_id=str(cluster.cluster_id))
            return [failure.api for failure in plan_state(cluster, wanted, soon()).failures]

    assert state.acls is None
    assert failed(owns) == []
    assert failed(owns + rule) == [DESCRIBE_ACLS.name]
    state.acls = ()
    state.missing = {node: {DESCRIBE_USER_SCRAM_CREDENTIALS.key} for node in (1, 2, 3)}
    assert failed(owns + rule) == []


def test_a_subscription_that_brokers_describe_without_keys(state: FakeCluster, cluster: Cluster) -> None:
    """Brokers of Kafka 3 describe only keys that are set; the others are known too, and a new subscription is created."""
    text = '[client_metrics.new]\n"interval.ms" = 5000\nmetrics = ["org.apache.kafka."]\n'
    live = read_live(cluster, wanted_of(desired(text)), soon())
    assert faults_of(desired(text), live) == []
    (action,) = diff(desired(text), live)
    assert (action.resource.name, action.after) == ("new", {"interval.ms": "5000", "metrics": "org.apache.kafka."})
    state.configs[CLIENT_METRICS, "new"] = {"interval.ms": "5000"}
    live = read_live(cluster, wanted_of(desired(text)), soon())
    (action,) = diff(desired(text), live)
    assert action.after == {"metrics": "org.apache.kafka."}
    misspelt = desired("[client_metrics.new]\nmetrix = 'x'\n")
    (fault,) = faults_of(misspelt, live)
    assert "metrix: is not a config of a client metrics (did you mean metrics?)" in fault


def test_a_throttle_that_is_not_set_or_listed_as_read_only(state: FakeCluster, cluster: Cluster) -> None:
    """Brokers list it only while it is set, and Kafka 3 as read-only: an import was refused as soon as the throttle had ended."""

    def read_only(response: Any) -> Any:
        results = (replace(one, configs=tuple(map(listed, one.configs))) for one in response.results)
        return replace(response, results=tuple(results))

    def listed(config: Any) -> Any:
        return replace(config, read_only=config.name != "log.cleaner.threads")

    state.faults.append(Fault(DESCRIBE_CONFIGS.key, Altered(read_only), times=1_000))
    state.configs[BROKER, "1"] = {"log.cleaner.threads": "2"}
    state_of_file = desired('[broker_configs.1]\n"leader.replication.throttled.rate" = 5\n')
    live = read_live(cluster, wanted_of(state_of_file), soon())
    assert faults_of(state_of_file, live) == []
    (action,) = diff(state_of_file, live)
    assert action.after == {"leader.replication.throttled.rate": "5"}
    state.configs[BROKER, "1"] |= action.after
    live = read_live(cluster, wanted_of(state_of_file), soon())
    assert (faults_of(state_of_file, live), diff(state_of_file, live)) == ([], [])
    misspelt = desired('[broker_configs.1]\n"leader.replication.throttled.rates" = 5\n')
    assert len(faults_of(misspelt, live)) == 1


def test_configs_of_a_broker_that_is_down_are_not_left_out_silently(
    state: FakeCluster, connect: Callable[[], Cluster]
) -> None:
    """It has replicas, and metadata leave it out: a plan or an import without its configs would be wrong."""
    state.configs[BROKER, "2"] = {"log.cleaner.threads": "4"}
    del state.addresses[2]
    cluster = connect()
    imported = import_state(cluster, soon())
    text = "broker 2: DescribeConfigs: BROKER_NOT_AVAILABLE (the broker does not run, so its configs are not read)"
    assert [line for line in failure_lines(imported.failures) if "broker 2" in line] == [text]
    owning = read_live(cluster, wanted_of(desired('[owns]\nbrokers = [".*"]\n')), soon())
    assert text in failure_lines(owning.failures)
    text = '[broker_configs.2]\n"log.cleaner.threads" = 4\n[broker_configs.9]\n"log.cleaner.threads" = 4\n'
    assert faults_of(desired(text), read_live(cluster, wanted_of(desired(text)), soon())) == [
        "x.toml:2: broker_configs.2: broker 2 does not run, so its configs cannot be read or altered: start it, or leave them out",
        "x.toml:4: broker_configs.9: there is no broker 9 (there are 1, 3)",
    ]


def with_fenced(answer: DescribeClusterResponse) -> DescribeClusterResponse:
    """Add broker 9, which is registered and down."""
    fenced = DescribeClusterBroker(broker_id=9, host="h", port=1, rack=None, is_fenced=True)
    return replace(answer, brokers=(*answer.brokers, fenced))


def test_a_broker_that_is_emptied_and_down_is_known(state: FakeCluster, cluster: Cluster) -> None:
    """It is registered, and has no replicas any more: the action is done, and not a fault that holds up the whole file."""
    state.faults.append(Fault(DESCRIBE_CLUSTER.key, Altered(with_fenced), times=1_000))
    empty = "[[actions]]\naction = 'empty_broker'\nbroker = {}\n"
    state_of_file = replace(desired(empty.format(9)), cluster_id=cluster.cluster_id or "")
    plan = plan_state(cluster, state_of_file, soon())
    assert (plan.actions, plan.failures) == ([], [])
    state_of_file = replace(desired(empty.format(8)), cluster_id=cluster.cluster_id or "")
    with pytest.raises(ConfigError, match="there is no broker 8"):
        plan_state(cluster, state_of_file, soon())


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[topics.orders]\nassignments = [[{}]]\n", ": topics.orders.assignments: partition 0"),
        ("[[actions]]\naction = 'reassign_partitions'\nassignments = {{ 'orders-0' = [{}] }}\n", ".orders-0"),
        ("[[actions]]\naction = 'move_replicas'\nbroker = {}\nlog_dir = '/b'\ntopics = ['orders']\n", ".broker"),
    ],
)
@pytest.mark.usefixtures("topic_apis")
def test_a_broker_that_is_named_and_down(state: FakeCluster, cluster: Cluster, text: str, place: str) -> None:
    """It is registered, so it is not said that there is no such broker; and with replicas it need not be looked for."""
    state.faults.append(Fault(DESCRIBE_CLUSTER.key, Altered(with_fenced), times=1_000))
    for broker_id, reason in ((9, "broker 9 does not run"), (8, "there is no broker 8 (there are 1, 2, 3)")):
        state_of_file = replace(desired(text.format(broker_id)), cluster_id=cluster.cluster_id or "")
        with pytest.raises(ConfigError) as refused:
            plan_state(cluster, state_of_file, soon())
        assert [fault for fault in refused.value.problems if fault.endswith(f"{place}: {reason}")]
    described = state.count(DESCRIBE_CLUSTER.key)
    (partition,) = state.add_topic("stays", 1).partitions
    partition.replicas, partition.isr, partition.leader_id = (7, 1), (1,), 1
    cluster.refresh(None, soon())
    with pytest.raises(ConfigError) as refused:
        plan_state(cluster, replace(desired(text.format(7)), cluster_id=cluster.cluster_id or ""), soon())
    assert [fault for fault in refused.value.problems if fault.endswith(f"{place}: broker 7 does not run")]
    assert state.count(DESCRIBE_CLUSTER.key) == described


def test_a_broker_that_is_emptied_or_configured_and_may_be_registered(state: FakeCluster, cluster: Cluster) -> None:
    """Brokers that cannot be listed are a failure of the plan: the file has no fault, and may be right."""

    def refuse(answer: DescribeClusterResponse) -> DescribeClusterResponse:
        return replace(answer, error_code=31, brokers=())

    state.faults.append(Fault(DESCRIBE_CLUSTER.key, Altered(refuse), times=1_000))
    emptied = "[[actions]]\naction = 'empty_broker'\nbroker = 9\n"
    for text in (emptied, '[broker_configs.9]\n"log.cleaner.threads" = 4\n'):
        state_of_file = replace(desired(text), cluster_id=cluster.cluster_id or "")
        plan = plan_state(cluster, state_of_file, soon())
        assert [failure.api for failure in plan.failures] == [DESCRIBE_CLUSTER.name]
        assert plan.actions == []


@pytest.mark.usefixtures("altering_apis")
def test_a_user_that_could_not_be_described(
    state: FakeCluster, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have a password: the plan would set another, or is incomplete where the file owns it."""
    state.scram_users = (scram_user("alice", error_code=-1),)
    monkeypatch.setenv("WQ7", "secret")
    text = '[scram_users.alice]\n"SCRAM-SHA-256" = { password = "env:WQ7" }\n'
    for written in (text, '[owns]\nprincipals = [".*"]\n'):
        state_of_file = replace(desired(written), cluster_id=cluster.cluster_id or "")
        plan = plan_state(cluster, state_of_file, soon())
        assert [(str(one.scope), one.name) for one in plan.failures] == [("SCRAM user alice", "UNKNOWN_SERVER_ERROR")]


@pytest.mark.usefixtures("altering_apis", "topic_apis")
def test_configs_of_groups_that_brokers_cannot_list(
    state: FakeCluster, connect: Callable[[], Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kafka 4.0 lists no groups with configs, so groups of the new types are described: their configs are imported, and unset."""
    for api, answer in resources.ANSWERS:
        monkeypatch.setitem(SPOKEN, api.key, (api, answer))
    state.highest[LIST_CONFIG_RESOURCES.key] = 0
    state.groups |= {"new": FakeGroup(coordinator_id=1, group_type="consumer"), "old": FakeGroup(coordinator_id=2)}
    state.configs[GROUP, "new"] = {"consumer.session.timeout.ms": "50000"}
    imported = import_state(connect(), soon())
    assert imported.state["group_configs"] == {"new": {"consumer.session.timeout.ms": "50000"}}
    owning = desired('[owns]\ngroups = [".*"]\n')
    live = read_live(connect(), wanted_of(owning), soon())
    assert list(live.configs["group"]) == ["new"]
    (action,) = diff(owning, live)
    assert (action.resource, action.after) == (("group", "new"), {"consumer.session.timeout.ms": None})
    state.highest[CONSUMER_GROUP_DESCRIBE.key] = 0
    older = read_live(connect(), wanted_of(owning), soon())
    assert (older.configs["group"], older.failures) == ({}, [])
