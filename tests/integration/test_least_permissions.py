"""The permissions that every command needs, on a real broker: with them it shows what a super user sees, and with one less it
neither does nor looks as if it did.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import (
    NewTopic,
)

from kafka_lagoon.admin.permissions import Permission
from kafka_lagoon.cli.registry import names_of
from kafka_lagoon.client.agreement import ask_cluster
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Deadline
from kafka_lagoon.fetch.first_unread import first_unread
from kafka_lagoon.kafka_settings import KafkaSettings, checked
from kafka_lagoon.protocol import acls
from kafka_lagoon.protocol.messages import describe_configs
from kafka_lagoon.protocol.messages.create_delegation_token import (
    CREATE_DELEGATION_TOKEN,
    CreateDelegationTokenRequest,
)
from kafka_lagoon.protocol.messages.incremental_alter_configs import (
    INCREMENTAL_ALTER_CONFIGS,
    IncrementalAlterConfigsEntry,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
)
from kafka_lagoon.snapshot.collect import collect
from kafka_lagoon.tables import snapshot_rows
from kafka_lagoon.tables.snapshot_rows import CollectionFailureRow, CoverageRow
from tests.clock import CLOCK
from tests.integration.least_permissions import Place, Shape, answer_to, shape_of
from tests.integration.secured import USER, Secured
from tests.integration.state import commit, create_topics, live_member, produce, sharing
from tests.integration.streams_members import streams_members
from tests.jobs import commands
from tests.permissions import REQUIRED_PERMISSIONS

ORDERS, PENDING, WRITTEN, READERS, PAYER = (
    "least-orders",
    "least-pending",
    "least-written",
    "least-readers",
    "least-payer",
)
RECORDS = 20

# Commands that prove each requirement.
RUN: Mapping[str, Sequence[str]] = {
    "kafka versions": (),
    "kafka metadata": (),
    "kafka health": (),
    "kafka offsets": (),
    "kafka groups": (),
    "kafka describe-group": (),
    "kafka describe-group GROUP": (READERS, f"{READERS}-live"),
    "kafka lag": (),
    "kafka lag GROUP": (READERS, f"{READERS}-live"),
    "kafka configs topic": (),
    "kafka configs topic TOPIC": (ORDERS,),
    "kafka configs broker": (),
    "kafka configs broker-logger": (),
    "kafka configs client-metrics": (),
    "kafka configs group": (),
    "kafka configs group GROUP": (READERS,),
    "kafka acls": ("--principal", f"User:{USER}"),
    "kafka log-dirs": ("--replicas",),
    "kafka quorum": (),
    "kafka reassignments": (),
    "kafka transactions": (),
    "kafka transactions --describe": (),
    "kafka transactions ID": (PAYER,),
    "kafka transactions --topic TOPIC": (PENDING,),
    "kafka fetch": (ORDERS,),
    "kafka produce": (WRITTEN, "--value", "v", "--partition", "0"),
}
JOBS = {
    "restore",
    "snapshot",
    "ingest",
    "plan",
    "apply",
    "import",
    "compare",
}  # apply needs the permissions of plan and verbs

# The permissions of one command need not prove that these lists are complete.
_UNPROVEN = ("topics", "topics of groups", "transactions", "topics of transactions")
UNPROVEN = {
    f"lagoon: {what}: perhaps not all of them: brokers leave out those that we may not describe" for what in _UNPROVEN
}

_DESCRIBE_GROUP = next(one for one in REQUIRED_PERMISSIONS["kafka lag"].permissions if one.resource_type == acls.GROUP)


@pytest.fixture(scope="module")
def place(secured: Secured) -> Iterator[Place]:
    """Make resources of every kind that can be hidden: topics, groups, configs, a transaction."""
    place = Place(secured)
    place.make_user()
    create_topics(place.plain, [NewTopic(ORDERS, 2, 1), NewTopic(PENDING, 1, 1), NewTopic(WRITTEN, 1, 1)])
    produce(place.plain, ORDERS, RECORDS)
    commit(place.plain, READERS, {(ORDERS, 0): 1, (ORDERS, 1): 1})
    _set_up_group(place.plain)
    with ExitStack() as stack:
        stack.enter_context(_open_transaction(place.plain))
        stack.enter_context(live_member(place.plain, f"{READERS}-live", ORDERS, **{"group.protocol": "consumer"}))
        commit(place.plain, f"{READERS}-live-commits", {(ORDERS, 0): 1})
        yield place


@contextmanager
def _open_transaction(bootstrap_servers: str) -> Iterator[None]:
    """Open a transaction with an uncommitted record."""
    lasts = {"transaction.timeout.ms": 900_000}  # for all tests of this file; otherwise brokers end it after a minute
    producer = Producer({"bootstrap.servers": bootstrap_servers, "transactional.id": PAYER, "log_level": 0, **lasts})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(PENDING, b"p")
    assert producer.flush(30) == 0
    try:
        yield
    finally:
        producer.abort_transaction(30)


def _set_up_group(bootstrap_servers: str) -> None:
    """Set a config of a group, which librdkafka cannot do."""
    setting = IncrementalAlterConfigsEntry(name="consumer.session.timeout.ms", config_operation=0, value="50000")
    group = IncrementalAlterConfigsResource(
        resource_type=describe_configs.GROUP, resource_name=READERS, configs=(setting,)
    )
    request = IncrementalAlterConfigsRequest(resources=(group,), validate_only=False)
    deadline = Deadline.after(CLOCK, 30_000)
    with Cluster.connect(
        KafkaSettings(bootstrap_servers=bootstrap_servers), CLOCK, RequestStats(), deadline
    ) as cluster:
        answer = ask_cluster(cluster, INCREMENTAL_ALTER_CONFIGS, request, Scope.group(READERS), deadline)
        assert not isinstance(answer, Failure)
        assert [one.error_code for one in answer.responses] == [0]


def test_every_verb_is_in_the_table() -> None:
    """A new verb needs a row in the table, and the row needs a test."""
    assert {name for name in REQUIRED_PERMISSIONS if name.startswith("kafka ")} == set(RUN)
    assert {name for name in REQUIRED_PERMISSIONS if " " not in name} == JOBS
    assert {name.split()[1] for name in RUN} == set(names_of("kafka"))


@pytest.mark.parametrize("name", RUN)
def test_permissions_of_verbs_are_enough_and_least(place: Place, name: str) -> None:
    """With the permissions of the table the user sees the same as a super user, and nothing is refused. With one less this is
    not so, and either the exit code or a line says so.
    """
    command, permissions = [*_typed(name), *RUN[name]], REQUIRED_PERMISSIONS[name].permissions
    with place.granted(permissions):
        whole, expected = place.as_user(command), place.as_super_user(command)
    assert (whole.code, whole.shape) == (0, expected.shape), whole.lines
    assert whole.lines <= expected.lines | UNPROVEN
    for permission in permissions:
        with place.granted(one for one in permissions if one is not permission):
            lacking = place.as_user(command)
        assert lacking != whole, f"{permission} is not needed"
        assert lacking.code or lacking.lines, f"without {permission} it looks as if all were there"
        assert not any("Traceback" in line for line in lacking.lines)


def _typed(name: str) -> list[str]:
    """Return a command of the table, without its placeholders."""
    return [word for word in name.split() if not word.isupper()]


def test_permissions_of_an_import_are_enough_and_least(place: Place) -> None:
    """With the permissions of the table the file equals that of a super user; with one less it differs, and says so."""

    def imported(*options: str) -> tuple[int, list[str], str]:
        ended = commands.here("import", *options)
        return ended.returncode, [line for line in ended.stdout.splitlines() if line[:1] != "#"], ended.stderr

    permissions = REQUIRED_PERMISSIONS["import"].permissions
    with place.granted(permissions):
        whole, expected = imported(*place.options()), imported("-b", place.plain)
    assert whole[:2] == expected[:2]
    assert whole[0] == 0
    for permission in permissions:
        with place.granted(one for one in permissions if one is not permission):
            code, lines, beside = imported(*place.options())
        assert lines != whole[1], f"{permission} is not needed"
        assert code == 3 or "not all of them" in beside


def _make_token(settings: Mapping[str, str]) -> None:
    """Make a token of the user with these settings."""
    answer = answer_to(
        settings, CREATE_DELEGATION_TOKEN, CreateDelegationTokenRequest(renewers=(), max_lifetime_ms=60_000)
    )
    assert answer.error_code == 0


def test_permissions_of_a_snapshot_are_enough_and_least(place: Place) -> None:
    """With the permissions of the table all rows equal a super user's, and the list of groups is proven complete."""
    permissions = REQUIRED_PERMISSIONS["snapshot"].permissions
    _make_token(place.settings_of_owner)
    with place.granted(permissions):
        whole, expected = _gathered(place.settings), _gathered({"bootstrap_servers": place.plain})
    tokens = Counter({one: count for one, count in whole[2].items() if one[0] == "DelegationTokenRow"})
    assert tokens.total() > 0  # which the super users' listener does not return
    assert (*whole[:2], whole[2] - tokens) == expected
    assert whole[:2] == ("complete", "complete")
    for permission in permissions:
        with place.granted(one for one in permissions if one is not permission):
            assert _gathered(place.settings) != whole, f"{permission} is not needed"


def _gathered(settings: Mapping[str, str]) -> tuple[str, str | None, Shape]:
    """Return the status of a snapshot, the completeness of its list of groups, and the subjects of its rows."""
    deadline = Deadline.after(CLOCK, 60_000)
    with Cluster.connect(checked(settings), CLOCK, RequestStats(), deadline) as cluster:
        snapshot = collect(
            cluster,
            "least",
            CLOCK.now_ms(),
            deadline,
            lambda _name, _items: None,
            measure=lambda positions: first_unread(cluster, positions, 1 << 24, deadline),
        )
    (groups,) = {one.visibility for one in snapshot.of(CoverageRow) if one.api == "ListGroups"}
    about_itself = {snapshot_rows.SnapshotRow, CoverageRow, CollectionFailureRow}
    facts = (
        {"kind": kind.__name__, **asdict(one)}
        for kind, some in snapshot.rows.items()
        for one in some
        if kind not in about_itself
    )
    return snapshot.published.status, groups, shape_of(facts)


def test_acls_prove_a_list_of_topics(place: Place) -> None:
    """With an ACL on all topics, and DESCRIBE on the cluster to read it, there is no note that some may be hidden."""
    topics = Permission(acls.DESCRIBE, acls.TOPIC, "")
    offsets = ["kafka", "offsets"]
    with place.granted([topics, Permission(acls.DESCRIBE, acls.CLUSTER, "")]):
        proven = place.as_user(offsets)
    with place.granted([topics]):
        unproven = place.as_user(offsets)
    assert (proven.code, proven.lines) == (0, set())
    assert (unproven.code, unproven.lines & UNPROVEN != set()) == (0, True)
    assert proven.shape == unproven.shape


def test_who_may_do_all_on_the_cluster_may_not_see_all_topics(place: Place) -> None:
    """An ACL allows every operation on the cluster, as super users may do them, and another one a single topic."""
    with place.granted([Permission(acls.ALL, acls.CLUSTER, ""), Permission(acls.READ, acls.TOPIC, "")], topic=ORDERS):
        shown, expected = place.as_user(["kafka", "offsets"]), place.as_super_user(["kafka", "offsets"])
    assert (shown.code, shown.lines & UNPROVEN != set()) == (0, True)
    assert shown.shape.total() < expected.shape.total()
    assert expected.lines == set()  # the ACL on the cluster is not the super user's


def test_what_fewer_permissions_still_show(place: Place) -> None:
    """DESCRIBE on some groups lists these, as a filtered list; classic groups are described without their topics."""
    groups, described = ["kafka", "groups"], ["kafka", "describe-group", READERS]
    with place.granted([_DESCRIBE_GROUP]):
        listed, expected = place.as_user(groups), place.as_super_user(groups)
        assert place.as_user(described) == place.as_super_user(described)
    assert (listed.code, listed.shape) == (0, expected.shape)
    assert listed.lines == {"lagoon: groups: not all of them: brokers leave out those that we may not describe"}


@pytest.mark.proof
@pytest.mark.parametrize("group_type", ["share", "streams"])
def test_newer_groups_want_the_right_to_their_topics(place: Place, group_type: str) -> None:
    """With the permissions of the table such groups are shown; without permission on their topics they are refused."""
    group_id = f"{READERS}-{group_type}"
    member = {
        "share": lambda: sharing(place.plain, group_id, WRITTEN),
        "streams": lambda: streams_members(place.plain, group_id, WRITTEN, ["one"]),
    }[group_type]
    with member():
        for name in ("kafka describe-group GROUP", "kafka lag GROUP"):
            command, permissions = [*_typed(name), group_id], REQUIRED_PERMISSIONS[name].permissions
            with place.granted(permissions):
                whole, expected = place.as_user(command), place.as_super_user(command)
            with place.granted(one for one in permissions if one.resource_type != acls.TOPIC):
                lacking = place.as_user(command)
            assert (whole.code, whole.shape) == (0, expected.shape), whole.lines
            assert lacking.code == 3
            assert any("TOPIC_AUTHORIZATION_FAILED" in line for line in lacking.lines), lacking.lines


def test_permissions_on_the_oldest_release(secured_282: Secured) -> None:
    """Kafka 2.8 with ZooKeeper returns the controller without a permission on the cluster, and WRITE is enough to write."""
    place = Place(secured_282)
    place.make_user()
    create_topics(place.plain, [NewTopic(WRITTEN, 1, 1)])
    topics, _ = REQUIRED_PERMISSIONS["kafka metadata"].permissions
    for name, permissions in (
        ("kafka metadata", [topics]),
        ("kafka produce", REQUIRED_PERMISSIONS["kafka produce"].permissions),
    ):
        command = [*_typed(name), *RUN[name]]
        with place.granted(permissions):
            whole, expected = place.as_user(command), place.as_super_user(command)
        assert (whole.code, whole.shape) == (0, expected.shape), whole.lines


def test_lagoon_admin_on_the_oldest_release(secured_282: Secured, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kafka 2.8 with ZooKeeper: requests go to its controller, commits are by topic name, and each verb succeeds."""
    servers, topic = secured_282.kafka.bootstrap_servers, "least-altered"
    create_topics(servers, [NewTopic(topic, 1, 1)])
    produce(servers, topic, RECORDS)
    monkeypatch.setenv("LEAST_PASSWORD", "Vd8-of-a-minute")
    rule = ("--principal", "User:old", "--resource-type", "topic", "--resource-name", topic, "--operation", "read")
    for command in (
        ("create-acl", *rule),
        ("delete-acl", "--principal", "User:old", "--allow-deletions"),
        ("alter-quotas", "--user", "old", "producer_byte_rate=1024"),
        ("alter-quotas", "--user", "old", "--remove", "producer_byte_rate"),
        ("alter-scram", "old", "--password", "env:LEAST_PASSWORD"),
        ("delete-scram", "old", "--allow-deletions"),
        ("reset-offsets", "least-old", "--topic", topic, "--to", "7"),
        ("delete-offsets", "least-old", "--topic", topic, "--allow-deletions"),
        ("reset-offsets", "least-old", "--topic", topic, "--to", "earliest"),
        ("delete-group", "least-old", "--allow-deletions"),
    ):
        ended = commands.here("admin", *command, "-b", servers, "--yes", "--json")
        outcomes = [json.loads(line)["outcome"] for line in ended.stdout.splitlines()]
        assert (ended.returncode, outcomes) == (0, ["done"]), (command, ended.stderr)
