"""A cluster as desired state: read back, it is what the cluster is."""

from kafka_lagoon.admin.features import FeatureLevels
from kafka_lagoon.apply.checks import faults_of
from kafka_lagoon.apply.desired.reading import desired_state, toml_document
from kafka_lagoon.apply.desired.state import Acl, ScramUser
from kafka_lagoon.apply.desired.writing import toml_text
from kafka_lagoon.apply.diff import diff
from kafka_lagoon.apply.imports import state_of
from kafka_lagoon.apply.move_plan import move_actions
from tests.apply.lives import live, topic

CLUSTER = live(
    {
        "orders.v2": topic("orders.v2", [[1, 2], [2, 3]]),
        "uneven": topic("uneven", [[1, 2], [2]]),
        "__consumer_offsets": topic("__consumer_offsets", [[1]], internal=True),
    },
    {
        "topic": {"orders.v2": {"retention.ms": "5", "cleanup.policy": "compact,delete"}},
        "broker": {"1": {"ssl.keystore.password": "(sensitive)"}, "<default>": {"log.cleaner.threads": "2"}},
        "group": {"a group": {"consumer.session.timeout.ms": "50000"}, "unset": {}},
    },
    acls=frozenset(
        Acl("TOPIC", name, "LITERAL", 'User:CN=a "b", OU=c', "*", operation, "ALLOW")
        for name in ("orders", "*")
        for operation in ("READ", "WRITE", "UNKNOWN_77")
    ),
    quotas={'user="a, b"': {"request_percentage": 12.5}, "client-id=<default>": {"producer_byte_rate": 5}},
    scram_users={ScramUser("al ice", "SCRAM-SHA-256"): 8192, ScramUser("al ice", "SCRAM-SHA-512"): 4096},
    features={"metadata.version": FeatureLevels(25, 7, 30), "off": FeatureLevels(0, 0, 1)},
)


def test_what_is_imported() -> None:
    """Only what is set, and nothing that is secret, internal, or unknown to us."""
    assert state_of(CLUSTER, with_assignments=True) == {
        "cluster_id": "c",
        "features": {"metadata.version": 25},
        "topics": {
            "orders.v2": {
                "partitions": 2,
                "replication_factor": 2,
                "assignments": [[1, 2], [2, 3]],
                "configs": {"cleanup.policy": "compact,delete", "retention.ms": "5"},
            },
            "uneven": {"partitions": 2},
        },
        "broker_configs": {"<default>": {"log.cleaner.threads": "2"}},
        "group_configs": {"a group": {"consumer.session.timeout.ms": "50000"}},
        "acls": [
            {
                "permission": "ALLOW",
                "principal": 'User:CN=a "b", OU=c',
                "operations": ["READ", "WRITE"],
                "resource_type": "TOPIC",
                "resource_name": name,
                "pattern_type": "LITERAL",
                "host": "*",
            }
            for name in ("*", "orders")
        ],
        "quotas": [
            {"client_id": "<default>", "producer_byte_rate": 5},
            {"user": "a, b", "request_percentage": 12.5},
        ],
        "scram_users": {"al ice": {"SCRAM-SHA-256": {"iterations": 8192}, "SCRAM-SHA-512": {"iterations": 4096}}},
    }


def test_a_plan_of_it_is_empty() -> None:
    """Although patterns match everything."""
    owns = {key: [".*"] for key in ("topics", "principals", "groups", "quotas", "brokers", "client_metrics")}
    for with_assignments in (False, True):
        state = {**state_of(CLUSTER, with_assignments=with_assignments), "owns": owns}
        desired = desired_state(toml_document("x.toml", toml_text(state)), 0)
        assert faults_of(desired, CLUSTER) == []
        assert diff(desired, CLUSTER) == []
        assert move_actions(desired, CLUSTER) == ([], [])
