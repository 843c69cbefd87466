"""configs, acls, log-dirs, quorum and transactions: missing permissions and old releases are reported, secrets hidden."""

from collections.abc import Callable
from typing import Any

import pytest

from kafka_lagoon.protocol import acls
from kafka_lagoon.protocol.messages import (
    describe_acls,
    describe_configs,
    describe_log_dirs,
    describe_quorum,
    describe_transactions,
    list_transactions,
)
from tests.cli.kafka.conftest import Ask
from tests.fake.acls import OF_SOMEBODY
from tests.fake.answers import SPOKEN
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Altered, Fault

NOT_LISTED = "NOT_LISTED (no broker lists it: it is not there, or we may not describe it)"
Speak = Callable[[Any, Callable[[int, int, Any], Any]], None]
SECRET = "hunter2"  # noqa: S105  it is looked for in what is printed


@pytest.fixture
def speak(monkeypatch: pytest.MonkeyPatch) -> Speak:
    """Make the fake brokers speak one more API: node, version and request in, response out."""

    def teach(api: Any, answer: Callable[[int, int, Any], Any]) -> None:
        spoken = (api, lambda _state, node, version, request: answer(node, version, request))
        monkeypatch.setitem(SPOKEN, api.key, spoken)

    return teach


def test_sensitive_settings_are_never_shown(speak: Speak, ask: Ask) -> None:
    """A sensitive value and its synonyms are never shown to people or scripts, even if a broker sends them."""

    def answer(node: int, _version: int, request: Any) -> Any:
        secret = describe_configs.DescribeConfigsEntry(
            name="ssl.key.password",
            value=SECRET,
            config_source=4,
            is_sensitive=True,
            synonyms=(describe_configs.DescribeConfigsSynonym(name="ssl.key.password", value=SECRET, source=4),),
        )
        plain = describe_configs.DescribeConfigsEntry(name="num.io.threads", value="8", config_source=5)
        odd = describe_configs.DescribeConfigsEntry(name="odd", value=f"broker {node}", config_source=99)
        (resource,) = request.resources
        result = describe_configs.DescribeConfigsResult(
            resource_type=resource.resource_type, resource_name=resource.resource_name, configs=(secret, plain, odd)
        )
        return describe_configs.DescribeConfigsResponse(results=(result,))

    speak(describe_configs.DESCRIBE_CONFIGS, answer)
    people, scripts = ask("configs", "broker", "1"), ask("configs", "broker", "1", "--all", "--json")
    assert SECRET not in people.out + scripts.out
    assert "(sensitive)" in people.out
    assert "num.io.threads" not in people.out
    rows = {one["name"]: (one["value"], one["source"]) for one in scripts.rows("config")}
    assert rows == {
        "ssl.key.password": (None, "STATIC_BROKER_CONFIG"),
        "num.io.threads": ("8", "DEFAULT_CONFIG"),
        "odd": ("broker 1", "UNKNOWN_99"),
    }
    every = ask("configs", "broker", "--json").rows("config")
    assert {one["value"] for one in every if one["name"] == "odd"} == {"broker 1", "broker 2", "broker 3"}


def test_configs_of_brokers_are_not_those_of_a_group(speak: Speak, ask: Ask) -> None:
    """Brokers return their own configs for a group, too; without --all only those that are set on the group are shown."""

    def answer(_node: int, _version: int, request: Any) -> Any:
        own, static, default = (
            describe_configs.DescribeConfigsEntry(name=name, value="9000", config_source=source)
            for name, source in (("session", 8), ("heartbeat", 4), ("streams", 5))
        )
        (resource,) = request.resources
        result = describe_configs.DescribeConfigsResult(
            resource_type=resource.resource_type, resource_name=resource.resource_name, configs=(own, static, default)
        )
        return describe_configs.DescribeConfigsResponse(results=(result,))

    speak(describe_configs.DESCRIBE_CONFIGS, answer)
    shown = ask("configs", "group", "g", "--json").rows("config")
    assert [(one["name"], one["source"]) for one in shown] == [("session", "GROUP_CONFIG")]
    assert len(ask("configs", "group", "g", "--all", "--json").rows("config")) == 3
    assert len(ask("configs", "topic", "orders", "--json").rows("config")) == 2


def test_settings_that_are_refused_are_failures(ask: Ask) -> None:
    """Of two topics one does not exist; the configs of the other are shown. A broker is named by its number."""
    shown = ask("configs", "topic", "orders", "gone", "--json")
    assert shown.code == 3
    assert shown.err == "lagoon: topic gone: DescribeConfigs of broker 1: UNKNOWN_TOPIC_OR_PARTITION\n"
    assert {one["resource_name"] for one in shown.rows("config")} == {"orders"}
    assert ask("configs", "broker", "9").err == "lagoon: broker 9: DescribeConfigs: BROKER_NOT_AVAILABLE\n"
    refused = ask("configs", "broker", "one")
    assert (refused.code, refused.err) == (2, "lagoon: one: not the id of a broker\n")


def test_acls_without_an_authorizer_are_a_failure(speak: Speak, ask: Ask) -> None:
    """An empty list of ACLs is valid; a missing authorizer is a failure, and exit 3."""
    speak(
        describe_acls.DESCRIBE_ACLS,
        lambda *_: describe_acls.DescribeAclsResponse(error_code=54, error_message="No Authorizer", resources=()),
    )
    shown = ask("acls", "--json")
    assert (shown.code, shown.out) == (3, "")
    assert shown.err == (
        "lagoon: ACLs: DescribeAcls: SECURITY_DISABLED "
        "(the brokers have no authorizer: there are no ACLs, and every user may do everything)\n"
    )
    people = ask("acls")
    assert (people.code, people.out, people.err) == (3, "", shown.err)


def test_options_become_a_filter(speak: Speak, ask: Ask) -> None:
    """Options are sent to the broker as a filter; unknown numbers are shown as numbers; odd principals are escaped."""
    requests: list[Any] = []

    def answer(_node: int, _version: int, request: Any) -> Any:
        requests.append(request)
        rule = describe_acls.AclDescription(principal="User:\x1b[2J", host="*", operation=99, permission_type=acls.DENY)
        resource = describe_acls.DescribeAclsResource(resource_type=acls.TOPIC, resource_name="t", acls=(rule,))
        return describe_acls.DescribeAclsResponse(resources=(resource,))

    speak(describe_acls.DESCRIBE_ACLS, answer)
    shown = ask(
        "acls", "--resource-type", "transactional-id", "--pattern-type", "match", "--operation", "describe_configs"
    )
    assert shown.out.splitlines()[1].split() == ["TOPIC", "t", "LITERAL", r"User:\u001b[2J", "*", "UNKNOWN_99", "DENY"]
    assert requests[0].resource_type_filter == acls.TRANSACTIONAL_ID
    assert requests[0].pattern_type_filter == acls.MATCH
    assert requests[0].operation == acls.DESCRIBE_CONFIGS
    assert requests[0].permission_type == acls.ANY


def test_a_log_dir_that_failed_is_a_row_and_a_failure(speak: Speak, ask: Ask) -> None:
    """Sizes of a failed directory are unknown, not 0; an empty list of a broker up to v2 is a failure."""

    def answer(node: int, _version: int, _request: Any) -> Any:
        replica = describe_log_dirs.DescribeLogDirsPartition(
            partition_index=0, partition_size=2**40, offset_lag=0, is_future_key=False
        )
        topic = describe_log_dirs.DescribeLogDirsTopic(name="orders", partitions=(replica,))
        good = describe_log_dirs.DescribeLogDirsResult(error_code=0, log_dir="/a", topics=(topic,))
        bad = describe_log_dirs.DescribeLogDirsResult(error_code=56, log_dir="/b", topics=())
        return describe_log_dirs.DescribeLogDirsResponse(results={1: (good, bad), 2: (good,), 3: ()}[node])

    speak(describe_log_dirs.DESCRIBE_LOG_DIRS, answer)
    shown = ask("log-dirs", "--topic", "orders", "--json")
    assert shown.code == 3
    assert shown.err.splitlines() == [
        "lagoon: broker 3: DescribeLogDirs of broker 3: CLUSTER_AUTHORIZATION_FAILED",
        "lagoon: broker 1, /b: DescribeLogDirs of broker 1: KAFKA_STORAGE_ERROR",
    ]
    rows = [(one["broker_id"], one["log_dir"], one["size_bytes"], one["problem"]) for one in shown.rows("log_dir")]
    assert rows == [(1, "/a", 2**40, None), (1, "/b", None, "KAFKA_STORAGE_ERROR"), (2, "/a", 2**40, None)]
    assert [one["broker_id"] for one in shown.rows("replica")] == [1, 2]


def test_quorum_under_zookeeper_is_a_failure(ask: Ask) -> None:
    """Brokers without the API have no quorum; one line says so."""
    shown = ask("quorum", "--json")
    assert (shown.code, shown.out) == (3, "")
    assert shown.err.startswith("lagoon: cluster: DescribeQuorum: UNSUPPORTED_VERSION")


def test_the_lag_of_the_quorum(speak: Speak, ask: Ask) -> None:
    """Lag is the leader's end offset minus the replica's; -1 is unknown."""

    def replica(replica_id: int, end: int) -> Any:
        return describe_quorum.QuorumReplica(replica_id=replica_id, log_end_offset=end)

    partition = describe_quorum.QuorumPartition(
        partition_index=0,
        error_code=0,
        leader_id=1,
        leader_epoch=7,
        high_watermark=2**60,
        current_voters=(replica(1, 2**60), replica(2, 2**60 - 5)),
        observers=(replica(9, -1),),
    )
    topic = describe_quorum.QuorumTopic(topic_name="__cluster_metadata", partitions=(partition,))
    answer = describe_quorum.DescribeQuorumResponse(error_code=0, topics=(topic,), nodes=())
    speak(describe_quorum.DESCRIBE_QUORUM, lambda *_: answer)
    shown = ask("quorum", "--json")
    assert shown.code == 0
    rows = [(one["replica_id"], one["role"], one["lag"]) for one in shown.rows("replica")]
    assert rows == [(1, "leader", 0), (2, "voter", 5), (9, "observer", None)]


@pytest.fixture
def transactions(speak: Speak) -> None:
    """Two transactional ids, of brokers 1 and 2; one cannot be described."""

    def listed(node: int, _version: int, request: Any) -> Any:
        names = {1: ("pay\x1b",), 2: ("secret",)}.get(node, ()) if request.duration_filter < 600_000 else ()
        some = (
            list_transactions.ListedTransaction(transactional_id=name, producer_id=2**62, transaction_state="Ongoing")
            for name in names
        )
        return list_transactions.ListTransactionsResponse(unknown_state_filters=(), transaction_states=tuple(some))

    def described(_node: int, _version: int, request: Any) -> Any:
        some = (
            describe_transactions.DescribedTransaction(
                error_code=53 if name == "secret" else 0,
                transactional_id=name,
                transaction_state="Ongoing",
                transaction_timeout_ms=60_000,
                transaction_start_time_ms=-1,
                producer_id=2**62,
                producer_epoch=3,
                topics=(),
            )
            for name in request.transactional_ids
        )
        return describe_transactions.DescribeTransactionsResponse(transaction_states=tuple(some))

    speak(list_transactions.LIST_TRANSACTIONS, listed)
    speak(describe_transactions.DESCRIBE_TRANSACTIONS, described)


@pytest.mark.usefixtures("transactions")
def test_transactions_are_listed_of_every_broker(state: FakeCluster, ask: Ask) -> None:
    """Rows have coordinators; a note says that brokers leave out transactions without permission."""
    state.cluster_operations, state.acls = 0, (OF_SOMEBODY,)
    shown = ask("transactions", "--json")
    assert [(one["transactional_id"], one["coordinator_id"]) for one in shown.rows("transaction")] == [
        ("pay\x1b", 1),
        ("secret", 2),
    ]
    assert shown.err.startswith("lagoon: transactions: perhaps not all of them")
    assert ask("transactions", "--state", "empty", "--json").out == ""
    filtered = ask("transactions", "pay\x1b", "--state", "empty", "--json")
    assert (filtered.code, filtered.out) == (0, "")  # it is listed with another state
    filtered = ask("transactions", "pay\x1b", "--longer-than-ms", "600000", "--json")
    assert (filtered.code, filtered.out) == (0, "")  # it is listed, and not open for so long
    filtered = ask("transactions", "pay\x1b", "nothing", "--longer-than-ms", "600000", "--json")
    assert (filtered.code, filtered.out) == (3, "")
    assert filtered.err.splitlines()[0] == f"lagoon: transaction nothing: ListTransactions: {NOT_LISTED}"


@pytest.mark.usefixtures("transactions")
def test_transactions_are_described_where_they_were_listed(ask: Ask) -> None:
    """A refused id and an unlisted id are failures; a time of -1 is null."""
    shown = ask("transactions", "pay\x1b", "secret", "nothing", "--json")
    assert shown.code == 3
    (row,) = shown.rows("transaction")
    assert (row["transactional_id"], row["producer_id"], row["started_at_ms"]) == ("pay\x1b", 2**62, None)
    assert shown.err.splitlines() == [
        "lagoon: transaction secret: DescribeTransactions of broker 2: TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
        f"lagoon: transaction nothing: ListTransactions: {NOT_LISTED}",
    ]


@pytest.mark.usefixtures("transactions")
def test_a_transaction_that_may_be_where_nobody_answered(state: FakeCluster, ask: Ask) -> None:
    """A broker that returned no list may coordinate the id, so the id is not reported as missing."""

    def refuse(response: Any) -> Any:
        response.error_code = 31
        return response

    state.faults.append(Fault(list_transactions.LIST_TRANSACTIONS.key, Altered(refuse), node_id=3, times=9))
    shown = ask("transactions", "nothing")
    assert shown.err.splitlines()[-1] == (
        "lagoon: transaction nothing: ListTransactions: NOT_LISTED (no broker that answered lists it)"
    )


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        (("--open",), "--open selects producers of a topic: give --topic"),
        (
            ("--topic", "orders", "--state", "Empty"),
            "--topic shows producers of partitions, and excludes all other options but --open",
        ),
    ],
)
def test_options_that_contradict_each_other_are_refused(ask: Ask, argv: tuple[str, ...], line: str) -> None:
    """They are refused before the verb connects."""
    shown = ask("transactions", *argv)
    assert (shown.code, shown.err) == (2, f"lagoon: {line}\n")
