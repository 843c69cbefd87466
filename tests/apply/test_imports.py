"""Import of a cluster as a desired state, and the empty plan of the imported file."""

from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_lagoon.admin.features import FeatureLevels
from kafka_lagoon.apply.checks import faults_of
from kafka_lagoon.apply.desired.reading import desired_state, toml_document
from kafka_lagoon.apply.desired.resources import Acl, ScramUser
from kafka_lagoon.apply.desired.writing import toml_text, yaml_text
from kafka_lagoon.apply.desired.yaml_document import yaml_document
from kafka_lagoon.apply.diff import diff
from kafka_lagoon.apply.imports import left_out, state_of
from kafka_lagoon.apply.kinds.names import quota_entity, quota_name
from kafka_lagoon.apply.kinds.quotas import number
from kafka_lagoon.apply.kinds.users import MECHANISMS
from kafka_lagoon.apply.live import Live
from kafka_lagoon.apply.move_plan import move_actions
from kafka_lagoon.protocol import acls
from tests.apply.lives import live, topic
from tests.effort import examples

CLUSTER = live(
    {
        "orders.v2": topic("orders.v2", [[1, 2], [2, 3]]),
        "uneven": topic("uneven", [[1, 2], [2]]),
        "__consumer_offsets": topic("__consumer_offsets", [[1]], internal=True),
        "__remote_log_metadata": topic("__remote_log_metadata", [[1]]),  # brokers do not call it internal
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
    """The file has only explicit values, and nothing that is secret, internal or unknown here."""
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
    """The plan is empty, although patterns match all resources."""
    owns = {key: [".*"] for key in ("topics", "principals", "groups", "quotas", "brokers", "client_metrics")}
    for with_assignments in (False, True):
        state = {**state_of(CLUSTER, with_assignments=with_assignments), "owns": owns}
        desired = desired_state(toml_document("x.toml", toml_text(state)), 0)
        assert faults_of(desired, CLUSTER) == []
        assert diff(desired, CLUSTER) == []
        assert move_actions(desired, CLUSTER) == ([], [])


NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
ODD_NAMES = st.one_of(
    NAMES, st.sampled_from(["*", "<default>", "", "a b", 'q"', "1", "true", "null", "-1", "a=b,c", "\x00", "é\n"])
)
TOPICS = st.from_regex(r"[a-zA-Z0-9._-]{1,12}", fullmatch=True).filter(lambda name: name not in (".", ".."))
PRINCIPALS = st.one_of(
    st.builds("{}:{}".format, st.sampled_from(["User", "Group", "user", "Role", ""]), ODD_NAMES), ODD_NAMES
)
ACLS = st.builds(
    Acl,
    resource_type=st.sampled_from([*acls.RESOURCE_TYPES.values(), "UNKNOWN_9"]),
    resource_name=st.one_of(ODD_NAMES, st.just("kafka-cluster")),
    pattern_type=st.sampled_from([*acls.PATTERN_TYPES.values(), "UNKNOWN_9"]),
    principal=PRINCIPALS,
    host=st.sampled_from(["*", "10.0.0.1", "", "::1"]),
    operation=st.sampled_from([*acls.OPERATIONS.values(), "UNKNOWN_99"]),
    permission=st.sampled_from([*acls.PERMISSION_TYPES.values(), "UNKNOWN_9"]),
)
CONFIGS = {
    "topic": st.fixed_dictionaries(
        {},
        optional={
            "retention.ms": st.integers(-1, 2**63 - 1).map(str),
            "cleanup.policy": st.sampled_from(["compact", "delete", "compact,delete", ""]),
            "min.insync.replicas": st.integers(1, 9).map(str),
            "compression.type": ODD_NAMES,
        },
    ),
    "broker": st.fixed_dictionaries(
        {}, optional={"log.cleaner.threads": st.just("2"), "ssl.keystore.password": st.just("(sensitive)")}
    ),
    "group": st.fixed_dictionaries({}, optional={"consumer.session.timeout.ms": st.just("50000")}),
    "client_metrics": st.fixed_dictionaries(
        {}, optional={"interval.ms": st.just("1"), "metrics": st.lists(NAMES, max_size=3).map(",".join)}
    ),
}
REPLICAS = st.lists(
    st.permutations([1, 2, 3]).flatmap(lambda ids: st.integers(1, 3).map(lambda n: ids[:n])), min_size=1, max_size=4
)
LIMITS = st.dictionaries(
    st.sampled_from(
        ["producer_byte_rate", "consumer_byte_rate", "request_percentage", "connection_creation_rate", "later_rate"]
    ),
    st.one_of(st.integers(-1, 2**63 - 1).map(float), st.floats(allow_nan=False, allow_infinity=False)).map(number),
    max_size=3,
)
ENTITIES = st.one_of(
    st.fixed_dictionaries({"ip": st.one_of(st.none(), st.just("10.0.0.1"))}),
    st.dictionaries(st.sampled_from(["user", "client-id"]), st.one_of(st.none(), ODD_NAMES), min_size=1),
)
FEATURES = st.dictionaries(
    st.sampled_from(["metadata.version", "kraft.version", "later"]),
    st.integers(0, 30).map(lambda level: FeatureLevels(level, 0, 30)),
)


@st.composite
def clusters(draw: st.DrawFn) -> Live:
    """Clusters in any state that brokers may describe, including alterations by other tools."""
    topics = draw(st.dictionaries(TOPICS, st.tuples(REPLICAS, st.booleans()), max_size=4))
    configs = {kind: draw(st.dictionaries(ODD_NAMES, some, max_size=3)) for kind, some in CONFIGS.items()}
    configs["topic"] = {name: draw(CONFIGS["topic"]) for name in topics}
    configs["broker"] = {name: draw(CONFIGS["broker"]) for name in ("1", "2", "<default>")}
    return live(
        {name: topic(name, replicas, internal=internal) for name, (replicas, internal) in topics.items()},
        configs,
        acls=draw(st.frozensets(ACLS, max_size=6)),
        quotas={
            quota_name(quota_entity(parts)): limits
            for parts, limits in draw(st.lists(st.tuples(ENTITIES, LIMITS), max_size=4))
        },
        scram_users=draw(
            st.dictionaries(
                st.builds(ScramUser, NAMES.filter(bool), st.sampled_from([*MECHANISMS, "UNKNOWN_9"])),
                st.integers(4096, 99_999),
                max_size=3,
            )
        ),
        features=draw(FEATURES),
    )


@settings(max_examples=examples(60), deadline=None)
@given(clusters(), st.booleans(), st.booleans())
def test_a_plan_of_any_import_is_empty(cluster: Live, with_assignments: bool, is_yaml: bool) -> None:
    """The file of any cluster is read without a fault, and describes the cluster."""
    state = state_of(cluster, with_assignments=with_assignments)
    document = yaml_document("x.yaml", yaml_text(state)) if is_yaml else toml_document("x.toml", toml_text(state))
    desired = desired_state(document, 0)
    assert faults_of(desired, cluster) == []
    assert diff(desired, cluster) == []
    assert move_actions(desired, cluster) == ([], [])


def test_what_no_file_can_say_is_named() -> None:
    """Limits, users and ACLs of later releases, or from other tools, are left out, with a line each."""
    cluster = live(
        acls=frozenset({Acl("TOPIC", "t", "LITERAL", "ops", "*", "READ", "ALLOW")}),
        quotas={
            "user=u": {"later_rate": 5.0, "producer_byte_rate": 0},
            'user="<default>"': {"producer_byte_rate": 1},
            "zone=a": {"producer_byte_rate": 1},
        },
        scram_users={ScramUser("u", "SCRAM-SHA-256"): 20_000, ScramUser("u", "UNKNOWN_9"): 4096},
    )
    state = state_of(cluster, with_assignments=False)
    assert (state["quotas"], state["scram_users"]) == (
        [{"user": "u", "producer_byte_rate": 0}],
        {"u": {"SCRAM-SHA-256": {}}},
    )
    assert left_out(cluster) == [
        "left out, no file can say them: 1 ACLs",
        "left out, no file can say it: later_rate of quota user=u",
        'left out, no file can say it: producer_byte_rate of quota user="<default>"',
        "left out, no file can say it: producer_byte_rate of quota zone=a",
        "left out, no file can say it: the iterations or the mechanism of u SCRAM-SHA-256",
        "left out, no file can say it: the iterations or the mechanism of u UNKNOWN_9",
    ]


def test_principals_of_other_types_are_announced() -> None:
    """ACLs of group principals are written, and the file declares that there are groups."""
    cluster = live(
        acls=frozenset({Acl("TOPIC", "t", "LITERAL", name, "*", "READ", "ALLOW") for name in ("Group:ops", "User:a")})
    )
    state = state_of(cluster, with_assignments=False)
    assert state["principal_types"] == ["Group"]
    assert diff(desired_state(toml_document("x.toml", toml_text(state)), 0), cluster) == []
