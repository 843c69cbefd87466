"""Faults of a desired state that are known only from the live cluster."""

from dataclasses import replace

from kafka_lagoon.admin.config_values import ConfigValue
from kafka_lagoon.admin.features import FeatureLevels
from kafka_lagoon.apply.checks import faults_of, min_isr_notes, wrong_cluster
from kafka_lagoon.apply.desired.resources import ScramUser
from kafka_lagoon.apply.diff import diff
from kafka_lagoon.protocol.messages.describe_cluster import DESCRIBE_CLUSTER
from tests.apply.kinds_in_memory import failure
from tests.apply.lives import desired, live, topic

READ_ONLY = ConfigValue(own="1", inherited=None, is_sensitive=False, is_read_only=True, config_type=3)
TEXT = """
[topics.orders]
partitions = 2
replication_factor = 4
[topics.orders.configs]
retention.mss = 5
retention.ms = "1 d"
[topics.assigned]
assignments = [[1, 9]]
[topics.fewer]
assignments = [[1], [2]]
[broker_configs.7]
[broker_configs.1]
broker.id = 5
log.cleaner.thread = 1
ssl.keystore.password = "hunter2"
[group_configs.g]
consumer.session.timeout.ms = "soon"
[scram_users.alice.SCRAM-SHA-256]
[scram_users.bob.SCRAM-SHA-256]
iterations = 8192
[scram_users.carol.SCRAM-SHA-256]
[features]
"metadata.version" = 31
"metadata.versions" = 1
"""


def test_all_faults_with_their_lines() -> None:
    """Each fault names the existing alternatives, and no value of a sensitive config."""
    cluster = live(
        {"orders": topic("orders", [[1, 2]] * 3), "fewer": topic("fewer", [[1]] * 3)},
        scram_users={ScramUser("bob", "SCRAM-SHA-256"): 4096, ScramUser("carol", "SCRAM-SHA-256"): 4096},
    )
    problems = faults_of(desired(TEXT), cluster)
    assert problems == [
        "x.toml:4: topics.orders.partitions: 2 are fewer than the 3 that topic orders has",
        "x.toml:5: topics.orders.replication_factor: 4 is more than the 3 brokers of the cluster",
        "x.toml:10: topics.assigned.assignments: partition 0: there is no broker 9 (there are 1, 2, 3)",
        "x.toml:12: topics.fewer.assignments: 2 are fewer than the 3 that topic fewer has",
        "x.toml:7: topics.orders.configs.retention.mss: is not a config of a topic (did you mean retention.ms?)",
        "x.toml:8: topics.orders.configs.retention.ms: must be a whole number (LONG)",
        "x.toml:13: broker_configs.7: there is no broker 7 (there are 1, 2, 3)",
        "x.toml:15: broker_configs.1.broker.id: is read-only: it is set in the file server.properties of each broker",
        "x.toml:16: broker_configs.1.log.cleaner.thread: is not a config of a broker (did you mean log.cleaner.threads?)",
        (
            "x.toml:17: broker_configs.1.ssl.keystore.password: is sensitive: it must be a reference, env:NAME or file:/path, and "
            "not the value itself"
        ),
        "x.toml:19: group_configs.g.consumer.session.timeout.ms: must be a whole number (INT)",
        "x.toml:20: scram_users.alice.SCRAM-SHA-256: password is missing: it is needed to create or change the user",
        "x.toml:21: scram_users.bob.SCRAM-SHA-256: password is missing: it is needed to create or change the user",
        "x.toml:25: features.metadata.version: 31 is not a level that all brokers can run (7 to 30)",
        "x.toml:26: features.metadata.versions: is not a feature of the cluster (did you mean metadata.version?)",
    ]


def test_what_is_right_is_no_fault() -> None:
    """As many replicas as brokers, replicas that are there, new partitions, references, a password, and every level in force."""
    text = """
[topics.new]
replication_factor = 3
[topics.extended]
assignments = [[1], [3]]
[broker_configs.1]
ssl.keystore.password = "env:PASSWORD"
[scram_users.alice.SCRAM-SHA-256]
password = "env:PASSWORD"
[scram_users.bob.SCRAM-SHA-256]
iterations = 4096
"""
    cluster = live({"extended": topic("extended", [[1]])}, scram_users={ScramUser("bob", "SCRAM-SHA-256"): 4096})
    assert faults_of(desired(text), cluster) == []
    for level in (0, 7, 25, 30):
        assert faults_of(desired(f'[features]\n"metadata.version" = {level}\n'), cluster) == []
    newer = live(features={"metadata.version": FeatureLevels(31, 7, 30)})  # while brokers are replaced by older ones
    assert faults_of(desired('[features]\n"metadata.version" = 31\n'), newer) == []
    without_configs = live(known_configs={}, configs={"topic": {}, "broker": {}, "group": {}})
    assert faults_of(desired('[topics.t.configs]\n"retention.ms" = 1\n'), without_configs) == []
    not_read = live(scram_users=None, features=None)
    assert faults_of(desired('[scram_users.carol.SCRAM-SHA-256]\n[features]\n"x.version" = 1\n'), not_read) == []


def test_fewer_replicas_than_min_insync_replicas() -> None:
    """Brokers accept it, so it is no fault; whoever gets it by the plan is warned, and a topic that has it already is not."""
    text = """
[defaults.topics.configs]
"min.insync.replicas" = 2
[topics.has]
[topics.new]
replication_factor = 1
[topics.shrunk]
replication_factor = 1
[topics.enough]
replication_factor = 2
[topics.odd]
replication_factor = 1
configs = { "min.insync.replicas" = "two" }
[topics.by_default]
"""
    own = {"topic": {name: {"min.insync.replicas": "2"} for name in ("has", "shrunk")}}
    cluster = live({"has": topic("has", [[1]]), "shrunk": topic("shrunk", [[1, 2]])}, own)
    assert faults_of(desired(text), cluster) == [
        "x.toml:14: topics.odd.configs.min.insync.replicas: must be a whole number (INT)"
    ]
    meaning = "min.insync.replicas=2, and it has 1 replica: acks=all needs all of them in sync, and brokers before Kafka 3.7 refuse it"
    assert list(min_isr_notes(desired(text), cluster)) == [f"topic new: {meaning}", f"topic shrunk: {meaning}"]


def test_another_cluster() -> None:
    """The cluster id of the file must be equal to the cluster's."""
    assert (
        wrong_cluster(desired(TEXT), live(cluster_id="other"))
        == "x.toml:1: cluster_id: is c, and the cluster's is other"
    )
    assert wrong_cluster(desired(TEXT), live()) is None


def test_brokers_that_were_not_read() -> None:
    """A broker that does not run may be one of the cluster; that this could not be read is the plan's failure, and no fault."""
    unread = failure("CLUSTER_AUTHORIZATION_FAILED", code=31)
    cluster = live(failures=[replace(unread, api=DESCRIBE_CLUSTER.name)])
    assert faults_of(desired("[broker_configs.7]\n"), cluster) == []
    assert len(faults_of(desired("[broker_configs.7]\n"), live(failures=[unread]))) == 1


def test_a_broker_that_is_down_is_no_fault() -> None:
    """A topic that has the replicas of the file is left unchanged, even if its brokers are down."""
    cluster = live({"orders": topic("orders", [[1, 2, 4]])}, brokers=2)
    text = "[topics.orders]\nassignments = [[1, 2, 4]]\nconfigs = { 'min.insync.replicas' = 3 }\n"
    assert faults_of(desired(text), cluster) == []
    assert faults_of(desired("[topics.orders]\nreplication_factor = 3\n"), cluster) == []


def test_a_config_of_a_listener_may_be_set_again() -> None:
    """Brokers list it only once it is set, and then as read-only, although they alter it; broker.id they never alter."""
    text = """
[broker_configs.1]
listener.name.inside.log.cleaner.threads = 2
listener.name.inside.plain.connections.max.reauth.ms = 5
listener.name.inside.broker.id = 5
"""
    cluster = live()
    names = {"log.cleaner.threads", "plain.connections.max.reauth.ms", "broker.id"}
    set_once = {f"listener.name.inside.{name}": READ_ONLY for name in names}
    known = {**cluster.known_configs, "broker": {**cluster.known_configs["broker"], **set_once}}
    (fault,) = faults_of(desired(text), replace(cluster, known_configs=known))
    assert fault.startswith("x.toml:6: broker_configs.1.listener.name.inside.broker.id: is read-only")


def test_jaas_configs_of_listeners_have_a_mechanism() -> None:
    """They are configs that brokers do not list before they are set, and secrets."""
    name = "listener.name.inside.scram-sha-256.sasl.jaas.config"
    cluster = live()
    jaas = replace(READ_ONLY, own=None, is_sensitive=True, is_read_only=False, config_type=9)
    known = {**cluster.known_configs, "broker": {**cluster.known_configs["broker"], "sasl.jaas.config": jaas}}
    cluster = replace(cluster, known_configs=known)
    state = desired(f'[broker_configs.1]\n"{name}" = "env:JAAS"\n')
    assert faults_of(state, cluster) == []
    (action,) = diff(state, cluster)
    assert action.after == {name: "(sensitive)"}
    (fault,) = faults_of(desired(f'[broker_configs.1]\n"{name}" = "password"\n'), cluster)
    assert "is sensitive" in fault


def test_faults_of_defaults_are_where_they_are_written() -> None:
    """The topic has no such key; the fault names the topic that the default does not fit."""
    text = """
[defaults.topics]
partitions = 1
replication_factor = 4
[defaults.topics.configs]
"retention.mss" = 5
[topics.a]
[topics.b]
partitions = 2
replication_factor = 1
configs = { retention.ms = "x" }
"""
    assert faults_of(desired(text), live({"a": topic("a", [[1], [2]])})) == [
        "x.toml:4: defaults.topics.partitions: 1 are fewer than the 2 that topic a has",
        "x.toml:5: defaults.topics.replication_factor: 4 is more than the 3 brokers of the cluster",
        "x.toml:7: defaults.topics.configs.retention.mss: is not a config of a topic (did you mean retention.ms?)",
        "x.toml:7: defaults.topics.configs.retention.mss: is not a config of a topic (did you mean retention.ms?)",
        "x.toml:12: topics.b.configs.retention.ms: must be a whole number (LONG)",
    ]
