"""The difference between a cluster and its desired state has the necessary actions, and no others."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_lagoon.admin.features import FeatureLevels
from kafka_lagoon.apply.action import Action, Guard
from kafka_lagoon.apply.desired.resources import Acl, ScramUser
from kafka_lagoon.apply.diff import diff
from kafka_lagoon.apply.plan import in_order, wanted_of
from tests.apply.lives import desired, live, topic

READ = Acl("TOPIC", "orders", "LITERAL", "User:alice", "*", "READ", "ALLOW")
RULE = '[[acls]]\nprincipal = "User:alice"\noperation = "READ"\nresource_type = "TOPIC"\nresource_name = "orders"\n'


def changes(actions: list[Action]) -> list[tuple[str, str, Any, Any]]:
    return [(action.kind, action.resource.name, action.before, action.after) for action in in_order(actions)]


def test_a_cluster_that_is_as_desired() -> None:
    """The plan is empty, also if a value is spelled differently, or the file leaves a default out."""
    state = desired(
        '[owns]\ntopics = ["orders"]\nprincipals = [".*"]\nbrokers = [".*"]\nquotas = [".*"]\n'
        "[topics.orders]\npartitions = 2\nreplication_factor = 2\n"
        'configs = { "retention.ms" = "0100", "cleanup.policy" = "delete,compact" }\n'
        '[[quotas]]\nuser = "alice"\nproducer_byte_rate = 5\n[scram_users.alice.SCRAM-SHA-256]\niterations = 8192\n'
        "[features]\n" + '"metadata.version" = 25\n[broker_configs.1]\n"log.cleaner.threads" = 2\n' + RULE
    )
    cluster = live(
        {"orders": topic("orders", [[1, 2], [2, 3]]), "other": topic("other", [[1]])},
        {
            "topic": {"orders": {"retention.ms": "100", "cleanup.policy": "compact,delete"}},
            "broker": {"1": {"log.cleaner.threads": "2"}},
        },
        acls=frozenset({READ}),
        quotas={"user=alice": {"producer_byte_rate": 5}},
        scram_users={ScramUser("alice", "SCRAM-SHA-256"): 8192},
    )
    assert diff(state, cluster) == []


def test_configs_are_compared_with_what_is_set_on_the_resource() -> None:
    """Configs are set, altered, and unset if the file owns the resource; a lower retention has its guard."""
    text = '[topics.orders]\nconfigs = { "retention.ms" = 50, "compression.type" = "zstd" }\n'
    cluster = live(
        {"orders": topic("orders", [[1]])}, {"topic": {"orders": {"retention.ms": "100", "cleanup.policy": "compact"}}}
    )
    (action,) = diff(desired(text), cluster)
    assert (action.before, action.after) == (
        {"retention.ms": "100", "compression.type": None},
        {"retention.ms": "50", "compression.type": "zstd"},
    )
    assert action.guards == {Guard.SHRINKING_RETENTION}
    assert action.source == "x.toml:3"
    (action,) = diff(desired('[owns]\ntopics = ["o.*"]\n' + text), cluster)
    assert action.before == {"retention.ms": "100", "compression.type": None, "cleanup.policy": "compact"}
    assert action.after == {"retention.ms": "50", "compression.type": "zstd", "cleanup.policy": None}


def test_what_is_owned_and_not_written_is_removed() -> None:
    """Owned topics (except internal ones), configs, ACLs, quotas and users are removed; each deletion has its guard.

    A rule or a user that no file can describe stays.
    """
    state = desired(
        '[owns]\ntopics = ["o.*", "__.*"]\nprincipals = ["User:a.*"]\ngroups = ["g"]\nbrokers = [".*"]\nquotas = ["user=a.*"]\n'
    )
    cluster = live(
        {"orders": topic("orders", [[1]]), "p": topic("p", [[1]]), "__o": topic("__o", [[1]], internal=True)},
        {
            "broker": {"1": {"log.cleaner.threads": "2", "ssl.keystore.password": "(sensitive)"}},
            "group": {"g": {"consumer.session.timeout.ms": "1"}, "h": {"consumer.session.timeout.ms": "1"}},
        },
        acls=frozenset({READ, READ._replace(principal="User:bob"), READ._replace(operation="UNKNOWN_77")}),
        quotas={"user=alice": {"producer_byte_rate": 5}, "user=bob": {"producer_byte_rate": 5}},
        scram_users={
            ScramUser("alice", "SCRAM-SHA-256"): 4096,
            ScramUser("alice", "UNKNOWN_77"): 4096,
            ScramUser("bob", "SCRAM-SHA-256"): 4096,
        },
    )
    actions = in_order(diff(state, cluster))
    assert [(action.kind, action.resource.name) for action in actions] == [
        ("alter_configs", "1"),
        ("alter_configs", "g"),
        ("alter_quotas", "user=alice"),
        ("delete_scram", "alice SCRAM-SHA-256"),
        ("delete_acl", "ALLOW User:alice READ topic LITERAL orders from *"),
        ("delete_topic", "orders"),
    ]
    assert all(Guard.DELETIONS in action.guards for action in actions if action.kind.startswith("delete"))
    assert actions[0].after == {"log.cleaner.threads": None}


def test_new_partitions_have_the_replicas_that_are_written() -> None:
    """The assignments of all partitions that the topic does not have yet, and of no others."""
    state = desired("[topics.orders]\nassignments = [[1], [2], [3]]\n")
    (action,) = diff(state, live({"orders": topic("orders", [[1]])}))
    assert (action.before, action.after) == ({"partitions": 1}, {"partitions": 3, "assignments": {"1": [2], "2": [3]}})


def test_topics_of_brokers_are_not_deleted() -> None:
    """Brokers keep the metadata of tiered storage in a topic that they do not call internal: it is not deleted, either."""
    topics = {name: topic(name, [[1]]) for name in ("__remote_log_metadata", "__orders")}
    (action,) = diff(desired('[owns]\ntopics = [".*"]\n'), live(topics))
    assert (action.kind, action.resource.name) == ("delete_topic", "__orders")


def test_without_patterns_nothing_is_removed() -> None:
    """A file without `owns` only adds and changes."""
    cluster = live(
        {"orders": topic("orders", [[1]])},
        {"broker": {"1": {"log.cleaner.threads": "2"}}, "topic": {"orders": {"retention.ms": "5"}}},
        acls=frozenset({READ}),
        quotas={"user=alice": {"producer_byte_rate": 5, "consumer_byte_rate": 6}},
        scram_users={ScramUser("alice", "SCRAM-SHA-256"): 4096},
    )
    text = '[topics.orders]\n[[quotas]]\nuser = "alice"\nproducer_byte_rate = 7\n'
    assert changes(diff(desired(text), cluster)) == [
        ("alter_quotas", "user=alice", {"producer_byte_rate": 5}, {"producer_byte_rate": 7})
    ]


def test_what_was_not_read_is_not_planned() -> None:
    """If configs of a topic or ACLs cannot be read, failures say so, and no action is planned for them."""
    state = desired('[topics.orders]\nconfigs = { "retention.ms" = 5 }\n' + RULE)
    cluster = live({"orders": topic("orders", [[1]])}, acls=None, quotas=None, scram_users=None, features=None)
    refused = {**cluster.configs, "topic": {}}
    assert diff(state, live({"orders": topic("orders", [[1]])}, acls=None, quotas=None)) != []
    unknown = type(cluster)(**{name: getattr(cluster, name) for name in cluster.__slots__} | {"configs": refused})
    assert diff(state, unknown) == []


def test_what_is_written_and_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules, limits, passwords and levels that differ are planned; of owned quotas, limits that are not written end."""
    monkeypatch.setenv("PASSWORD", "hunter2")
    text = (
        '[owns]\nquotas = ["user=alice"]\n[[quotas]]\nuser = "alice"\nproducer_byte_rate = 5\n'
        '[scram_users.alice.SCRAM-SHA-256]\niterations = 8192\npassword = "env:PASSWORD"\n'
        '[scram_users.bob.SCRAM-SHA-512]\npassword = "env:PASSWORD"\n[features]\n"metadata.version" = 26\n'
    )
    cluster = live(
        quotas={"user=alice": {"producer_byte_rate": 5, "consumer_byte_rate": 6}},
        scram_users={ScramUser("alice", "SCRAM-SHA-256"): 4096, ScramUser("bob", "SCRAM-SHA-512"): 9_000},
    )
    rule = "ALLOW User:alice READ topic LITERAL orders from *"
    assert changes(diff(desired(text + RULE), cluster)) == [
        ("update_feature", "metadata.version", {"level": 25}, {"level": 26, "upgrade_type": "upgrade"}),
        ("create_acl", rule, None, READ._asdict()),
        ("alter_quotas", "user=alice", {"consumer_byte_rate": 6}, {"consumer_byte_rate": None}),
        ("alter_scram", "alice SCRAM-SHA-256", {"iterations": 4096}, {"iterations": 8192}),
    ]


def test_min_insync_replicas_of_the_whole_cluster_are_set() -> None:
    """Only what brokers refuse is left out of a plan for a cluster with eligible leader replicas."""
    state = desired('[owns]\nbrokers = [".*"]\n[broker_configs."<default>"]\n"min.insync.replicas" = 2\n')
    features = {"eligible.leader.replicas.version": FeatureLevels(1, 0, 1)}
    own = {"broker": {name: {"min.insync.replicas": "1"} for name in ("<default>", "1")}}
    ((_, *default),) = changes(diff(state, live({}, own, features=features)))
    assert default == ["<default>", {"min.insync.replicas": "1"}, {"min.insync.replicas": "2"}]


def test_min_insync_replicas_stay_where_the_same_plan_enables_eligible_leader_replicas() -> None:
    """The level is set first: brokers then refused the action, with all other configs in it, and the plan was half done."""
    state = desired('[owns]\nbrokers = [".*"]\n[features]\n"eligible.leader.replicas.version" = 1\n')
    own = {name: {"min.insync.replicas": "1", "log.cleaner.threads": "2"} for name in ("<default>", "1")}
    cluster = live({}, {"broker": own}, features={"eligible.leader.replicas.version": FeatureLevels(0, 0, 1)})
    feature, *configs = changes(diff(state, cluster))
    assert feature[0] == "update_feature"
    assert [(name, after) for _, name, _, after in configs] == [
        ("1", {"log.cleaner.threads": None}),
        ("<default>", {"log.cleaner.threads": None}),
    ]


@pytest.mark.parametrize(("level", "unset"), [(0, True), (1, False)])
def test_what_brokers_keep_for_the_whole_cluster_is_not_unset(level: int, unset: bool) -> None:
    """With eligible leader replicas (KIP-966) min.insync.replicas is set on the cluster, and brokers refuse to unset it."""
    state = desired('[owns]\nbrokers = ["<default>"]\n')
    features = {"eligible.leader.replicas.version": FeatureLevels(level, 0, 1)}
    cluster = live({}, {"broker": {"<default>": {"min.insync.replicas": "1"}}}, features=features)
    assert bool(diff(state, cluster)) is unset


def test_limits_that_no_file_can_describe_stay() -> None:
    """Those of later releases, their entities, fractions of bytes, and a user whose name stands for the default."""
    cluster = live(
        quotas={
            "user=u": {"later_rate": 5, "producer_byte_rate": 1},
            "user=v": {"later_rate": 5, "producer_byte_rate": 1, "consumer_byte_rate": 2},
            "user=w": {"producer_byte_rate": 1.5, "request_percentage": 1.5},
            'user="<default>"': {"producer_byte_rate": 1},
            "zone=a": {"producer_byte_rate": 1},
        }
    )
    state = desired('[owns]\nquotas = [".*"]\n[[quotas]]\nuser = "v"\nproducer_byte_rate = 1\n')
    assert [(action.resource.name, action.after) for action in diff(state, cluster)] == [
        ("user=v", {"consumer_byte_rate": None}),
        ("user=u", {"producer_byte_rate": None}),
        ("user=w", {"request_percentage": None}),
    ]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", set()),
        ('[owns]\nprincipals = ["x"]\n', {"acls", "scram_users"}),
        ('[owns]\nquotas = ["x"]\n', {"quotas"}),
        ('[owns]\nbrokers = ["1"]\n', {"features"}),
        (RULE, {"acls"}),
        ('[[quotas]]\nuser = "alice"\nproducer_byte_rate = 5\n', {"quotas"}),
        ("[scram_users.alice.SCRAM-SHA-256]\niterations = 8192\n", {"scram_users"}),
        ('[features]\n"metadata.version" = 25\n', {"features"}),
    ],
)
def test_what_is_written_or_owned_is_read(text: str, parts: set[str]) -> None:
    """A part that is not read has no actions, so the cluster would be said to be as the file says."""
    wanted = wanted_of(desired(text))
    assert {part for part in ("acls", "quotas", "scram_users", "features") if getattr(wanted, part)} == parts


def test_limits_are_removed_in_one_order() -> None:
    """Their order in a plan differed from run to run, so a plan that was kept as text had changed although its id had not."""
    removed = ["consumer_byte_rate", "controller_mutation_rate", "request_percentage"]
    known = {"producer_byte_rate": 5, **dict.fromkeys(reversed(removed), 1)}
    quotas = {f"user={name}": known for name in "abcdefgh"}
    text = "".join(f'[[quotas]]\nuser = "{name}"\nproducer_byte_rate = 5\n' for name in "abcdefgh")
    actions = diff(desired('[owns]\nquotas = [".*"]\n' + text), live(quotas=quotas))
    assert [list(one.after or {}) for one in actions] == [removed] * len(quotas)


def test_passwords_are_not_in_actions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passwords are references until they are sent."""
    monkeypatch.setenv("PASSWORD", "hunter2")
    state = desired('[scram_users.alice.SCRAM-SHA-256]\npassword = "env:PASSWORD"\n')
    (action,) = diff(state, live())
    assert (action.before, action.after) == (None, {"iterations": 4096})
    assert "hunter2" not in repr(action)
    assert action.secrets["password"].reveal() == "hunter2"


def test_sensitive_configs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sensitive configs, also of listeners and all brokers, are set if missing and never shown; set ones are not compared."""
    monkeypatch.setenv("PASSWORD", "hunter2")
    names = ("ssl.keystore.password", "listener.name.x.ssl.keystore.password")
    lines = "".join(f'"{name}" = "env:PASSWORD"\n' for name in names)
    state = desired(f'[broker_configs.1]\n{lines}[broker_configs."<default>"]\n{lines}')
    cluster = live({}, {"broker": {"1": {names[0]: "(sensitive)"}}})
    by_name = {action.resource.name: action for action in diff(state, cluster)}
    default, first = by_name["<default>"], by_name["1"]
    assert default.after == dict.fromkeys(names, "(sensitive)")
    assert first.after == {names[1]: "(sensitive)"}
    assert {secret.reveal() for secret in default.secrets.values()} == {"hunter2"}
    assert "hunter2" not in repr([default, first])
    assert "env:" not in repr([default.after, first.after])


NAMES = st.sampled_from(["a", "b", "c.d", "__x"])
OWN = st.dictionaries(st.sampled_from(["retention.ms", "compression.type"]), st.sampled_from(["1", "2"]))


@given(st.dictionaries(NAMES, OWN), st.dictionaries(NAMES, OWN), st.sampled_from(["", "a", "[ab]", ".*"]))
def test_after_the_plan_the_cluster_is_as_desired(wanted, there, owned):
    """The plan of the resulting state is empty, and resources that are neither in the file nor owned are unchanged."""
    lines = [f'[topics."{name}"]\npartitions = 1\n[topics."{name}".configs]\n' + "".join(f'"{key}" = "{text}"\n' for key, text in own.items()) for name, own in wanted.items()]  # fmt: skip
    owns = f'[owns]\ntopics = ["{owned}", {", ".join(map(repr, wanted))}]\n' if owned else ""
    state = desired(owns + "".join(lines))
    topics = {name: topic(name, [[1]], internal=name.startswith("__")) for name in there}
    actions = diff(state, live(topics, {"topic": there}))
    after = {name: dict(own) for name, own in there.items()}
    for action in actions:
        name = action.resource.name
        assert name in wanted or state.owns.is_owned("topic", name)
        if action.kind == "create_topic":
            after[name] = dict((action.after or {}).get("configs", {}))
        elif action.kind == "delete_topic":
            del after[name]
        else:
            own = {**after[name], **(action.after or {})}
            after[name] = {key: text for key, text in own.items() if text is not None}
    assert diff(state, live({name: topic(name, [[1]], internal=name.startswith("__")) for name in after}, {"topic": after})) == []  # fmt: skip
    for name, own in wanted.items():
        assert own.items() <= after[name].items()
    if not owned:
        assert set(there) <= set(after)
