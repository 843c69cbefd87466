"""metadata, health and offsets: problems of partitions are shown, and unknown values are reported."""

from dataclasses import replace

import pytest

from kafka_lagoon.protocol.messages.describe_configs import DESCRIBE_CONFIGS
from kafka_lagoon.protocol.messages.list_offsets import LIST_OFFSETS
from kafka_lagoon.protocol.messages.list_partition_reassignments import LIST_PARTITION_REASSIGNMENTS
from tests.cli.kafka.conftest import Ask
from tests.fake.acls import OF_SOMEBODY
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Altered, Fault

NOT_ALL = "lagoon: topics: perhaps not all of them: brokers leave out those that we may not describe\n"


def test_metadata_tells_brokers_topics_and_partitions(ask: Ask) -> None:
    """Every broker, topic and partition has its row; with all permissions on the cluster there is no note."""
    shown = ask("metadata", "--json")
    assert (shown.code, shown.err) == (0, "")
    assert shown.rows("cluster")[0]["partitions"] == 4
    assert [(one["broker_id"], one["rack"]) for one in shown.rows("broker")] == [(1, "a"), (2, "b"), (3, "c")]
    assert [one["topic"] for one in shown.rows("topic")] == ["orders", "other"]
    orders = [one for one in shown.rows("partition") if one["topic"] == "orders"]
    assert [one["leader_id"] for one in orders] == [1, 2, 3]


def test_a_list_that_may_be_short_says_so(state: FakeCluster, ask: Ask) -> None:
    """Without all permissions the list of topics may be incomplete; named topics need no note."""
    state.cluster_operations, state.acls = 0, (OF_SOMEBODY,)
    assert ask("metadata").err == NOT_ALL
    assert ask("metadata", "--topic", "orders").err == ""


def test_a_topic_that_is_not_there_is_a_failure(ask: Ask) -> None:
    """It has a row with its problem, a line, and exit 3; the other topic is complete."""
    shown = ask("metadata", "--topic", "orders,gone", "--json")
    assert shown.code == 3
    assert shown.err == "lagoon: topic gone: Metadata: UNKNOWN_TOPIC_OR_PARTITION\n"
    assert {one["topic"]: one["problem"] for one in shown.rows("topic")} == {
        "gone": "UNKNOWN_TOPIC_OR_PARTITION",
        "orders": None,
    }
    assert len(shown.rows("partition")) == 3


def test_a_topic_with_an_odd_name_is_a_failure(state: FakeCluster, ask: Ask) -> None:
    """A hostile broker may send any bytes as a name: it is not used, and escaped in the message."""
    state.add_topic("odd\x1b]0;\u202e", 1)
    shown = ask("metadata", "--json")
    assert {one["topic"] for one in shown.rows("topic")} == {"orders", "other"}
    assert (shown.code, r"`odd\u001b]0;\u202e` is not a name of a topic" in shown.err) == (3, True)


@pytest.fixture
def sick(state: FakeCluster) -> FakeCluster:
    """A partition without a leader, and one with a single replica in sync that is not led by its first replica."""
    first, second, _ = state.topics["orders"].partitions
    state.topics["orders"].min_insync_replicas = 2
    first.leader_id, first.isr = -1, ()
    second.leader_id, second.isr = 3, (3,)
    return state


@pytest.mark.usefixtures("sick")
def test_health_tells_what_is_wrong(ask: Ask) -> None:
    """Partitions with findings, the worst first, and the number of each finding; findings are no failure."""
    shown = ask("health", "--json")
    assert (shown.code, shown.err) == (0, "")
    assert {(one["topic"], one["partition"]): one["findings"] for one in shown.rows("partition")} == {
        ("orders", 0): ["leaderless", "under_min_isr", "under_replicated"],
        ("orders", 1): ["under_min_isr", "under_replicated", "not_preferred_leader"],
    }
    counts = {one["finding"]: (one["partitions"], one["of"]) for one in shown.rows("finding")}
    assert counts["leaderless"] == (1, 4)
    assert counts["at_min_isr"] == (0, 4)


@pytest.mark.usefixtures("sick")
def test_health_without_reassignments(state: FakeCluster, ask: Ask) -> None:
    """Where they cannot be listed, all replicas count, which a line says."""
    refused = Altered(lambda response: replace(response, error_code=31))
    state.faults.append(Fault(LIST_PARTITION_REASSIGNMENTS.key, refused, times=10))
    shown = ask("health", "--json")
    assert len(shown.rows("partition")) == 2
    assert shown.err == (
        "lagoon: under_replicated: replicas that a reassignment adds count, too: cluster: ListPartitionReassignments of "
        "broker 1: CLUSTER_AUTHORIZATION_FAILED\n"
    )


@pytest.mark.usefixtures("sick")
def test_health_fails_only_by_option(ask: Ask) -> None:
    """--fail applies to grave findings, or to the named findings."""
    assert ask("health", "--fail").code == 3
    assert ask("health", "--fail", "not_preferred_leader").code == 3
    assert ask("health", "--fail", "at_min_isr").code == 0
    assert ask("health", "--fail", "--topic", "other").code == 0
    assert [one["partition"] for one in ask("health", "--json", "--only", "leaderless").rows("partition")] == [0]


def test_health_of_fewer_replicas_than_min_insync_replicas(state: FakeCluster, ask: Ask) -> None:
    """If all replicas are in sync, brokers since Kafka 3.7 take writes with acks=all, so the finding is not grave; else it is."""
    state.topics["orders"].min_insync_replicas = 9
    shown = ask("health", "--json", "--fail")
    assert shown.code == 0
    assert {tuple(one["findings"]) for one in shown.rows("partition")} == {("min_isr_above_replicas",)}
    assert ask("health", "--fail-above", "under_min_isr").code == 0
    assert ask("health", "--fail-above", "min_isr_above_replicas").code == 3
    state.topics["orders"].partitions[0].isr = (1, 2)
    assert ask("health", "--fail-above", "under_min_isr").code == 3


def test_health_does_not_call_well_what_it_does_not_know(state: FakeCluster, ask: Ask) -> None:
    """If min.insync.replicas cannot be read, partitions have a finding and the exit code is 3 with --fail."""

    def refuse(response: object) -> object:
        for result in response.results:
            result.error_code, result.configs = 29, ()
        return response

    state.faults.append(Fault(DESCRIBE_CONFIGS.key, Altered(refuse)))
    shown = ask("health", "--json")
    assert {(tuple(one["findings"]), one["problem"]) for one in shown.rows("partition")} == {
        (("min_isr_unknown",), "TOPIC_AUTHORIZATION_FAILED")
    }
    assert shown.code == 3
    assert shown.err == "lagoon: topic orders, topic other: DescribeConfigs of broker 1: TOPIC_AUTHORIZATION_FAILED\n"


def test_offsets_that_are_refused_are_rows_with_a_problem(state: FakeCluster, ask: Ask) -> None:
    """The row of a refused partition has the reason, other rows are complete, and one line reports it once."""
    state.topics["orders"].partitions[1].error_code = 29
    state.topics["other"].partitions[0].high_watermark = 2**62
    shown = ask("offsets", "--json")
    assert shown.code == 3
    assert shown.err == "lagoon: orders-1: ListOffsets of broker 2: TOPIC_AUTHORIZATION_FAILED\n"
    rows = {
        (one["topic"], one["partition"]): (one["high_watermark"], one["problem"]) for one in shown.rows("partition")
    }
    assert rows == {
        ("orders", 0): (100, None),
        ("orders", 1): (None, "TOPIC_AUTHORIZATION_FAILED"),
        ("orders", 2): (100, None),
        ("other", 0): (2**62, None),
    }


def test_what_brokers_are_too_old_for_is_said_and_is_no_failure(state: FakeCluster, ask: Ask) -> None:
    """ListOffsets v6 supports neither the largest timestamp nor tiered offsets."""
    state.highest[LIST_OFFSETS.key] = 6
    shown = ask("offsets", "--topic", "other")
    assert shown.code == 0
    assert shown.err == (
        "lagoon: brokers are too old to return the largest timestamp (Kafka 3.0), the local start (Kafka 3.5), "
        "the tiered end (Kafka 3.9)\n"
    )


def test_offsets_at_a_time(state: FakeCluster, ask: Ask) -> None:
    """The first record at or after the time; a missing record is null, not -1."""
    state.topics["orders"].partitions[0].times = ((1_000, 7), (2_000, 9))
    for when in ("1500", "1970-01-01T00:00:01.500Z"):
        rows = ask("offsets", "--at", when, "--topic", "orders", "--json").rows("partition")
        assert [(one["partition"], one["offset"]) for one in rows] == [(0, 9), (1, None), (2, None)]
        assert {one["asked_ms"] for one in rows} == {1_500}


def test_offsets_at_a_time_before_1970(state: FakeCluster, ask: Ask) -> None:
    """They are the first records with a timestamp; Kafka's numbers of special offsets are no times."""
    state.topics["orders"].partitions[0].times = ((0, 7), (2_000, 9))
    for when in ("1969-12-31T23:59:59.999Z", "1969-12-31T23:59:59.994Z", "1900-01-01", "-7"):
        rows = ask("offsets", f"--at={when}", "--topic", "orders", "--json").rows("partition")
        assert [one["offset"] for one in rows] == [7, None, None]
    for number in range(-6, 0):
        shown = ask("offsets", f"--at={number}")
        assert (shown.code, shown.out) == (2, "")
        assert f"--at: {number} is not a time: without --at, the start and end offsets are shown; see" in shown.err


def test_a_broker_that_is_gone_is_one_line(state: FakeCluster, ask: Ask) -> None:
    """Failures of all partitions of a broker are one line; other rows are shown, and the exit code is 3."""
    state.faults.append(Fault(LIST_OFFSETS.key, Altered(_of_nothing), node_id=1, times=1_000))
    shown = ask("offsets", "--topic", "orders", "--json", "--timeout", "0.3")
    assert shown.code == 3
    assert len(shown.err.splitlines()) == 1
    assert shown.err.startswith("lagoon: orders-0: ListOffsets of broker 1: ")
    assert [one["problem"] is None for one in shown.rows("partition")] == [False, True, True]


def _of_nothing(response: object) -> object:
    response.topics = ()
    return response


def test_permissions_on_the_cluster_are_requested_once(state: FakeCluster, ask: Ask) -> None:
    """Permissions are requested once, and only if the output needs them."""
    ask("health", "--topic", "orders")
    assert state.permission_requests == 0
