"""A batch that is sent is in the log once, or its failure says what is known about it."""

from typing import Any

import pytest

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.produce.sending import Delivery, read_answers
from kafka_lagoon.produce.sequences import SequenceNumbers, init_producer_id
from kafka_lagoon.protocol.messages.metadata import METADATA
from kafka_lagoon.protocol.messages.produce import (
    NO_ACKS,
    PRODUCE,
    BatchIndexAndErrorMessage,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from kafka_lagoon.topic_partition import TopicPartition
from tests.fake.broker import FakeBroker
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Close, Fault, Hang
from tests.produce.conftest import NEWS, PLAIN, Connect, ends, refuse, soon, write


def test_batches_go_to_their_leaders(state: FakeCluster, cluster: Cluster) -> None:
    """Each leader gets one request, and the answer for each partition has the offset of its batch."""
    result = write(cluster, init_producer_id(cluster, soon()), Delivery())
    assert {partition: answer.base_offset for partition, answer in result.answers.items()} == dict.fromkeys(NEWS, 0)
    assert not result.failures
    assert [state.count(PRODUCE.key, node) for node in (1, 2, 3)] == [1, 1, 1]
    assert ends(state) == [2, 2, 2]


def test_topic_ids_are_used(state: FakeCluster, cluster: Cluster) -> None:
    """With topic ids the newest version is used, without them v12 at most."""
    ids = {"news": state.topics["news"].topic_id}
    for delivery, highest, version in ((PLAIN, 13, 12), (Delivery(acks=1, topic_ids=ids), 13, 13)):
        state.highest[PRODUCE.key] = highest
        assert len(write(cluster, SequenceNumbers(), delivery).answers) == 3
        assert state.requests[-1][1:] == (PRODUCE.key, version)


def test_old_brokers_are_refused(state: FakeCluster, connect: Connect) -> None:
    """On brokers without Produce v3 each partition is a failure, because we do not write older record formats."""
    state.add_topic("news", 3, end=0)
    state.highest[PRODUCE.key] = 2
    cluster = connect()
    cluster.refresh({"news"}, soon())
    result = write(cluster, SequenceNumbers(), PLAIN)
    assert {failure.name for failure in result.failures.values()} == {"UNSUPPORTED_VERSION"}


@pytest.mark.parametrize("fault", [Close(), Close(sent=10)])
def test_a_numbered_batch_is_sent_again(state: FakeCluster, cluster: Cluster, fault: Close) -> None:
    """After a lost answer the batch is sent again, and the log has it once, at the returned offset."""
    sequences = init_producer_id(cluster, soon())
    state.faults.append(Fault(PRODUCE.key, fault, node_id=2))
    result = write(cluster, sequences, Delivery())
    assert {answer.base_offset for answer in result.answers.values()} == {0}
    assert state.count(PRODUCE.key, 2) == 2
    assert ends(state) == [2, 2, 2]


def test_a_batch_without_number_is_not_sent_again(state: FakeCluster, cluster: Cluster) -> None:
    """After a lost answer the failure has `may_be_done`; the batch is not written twice."""
    state.faults.append(Fault(PRODUCE.key, Close(), node_id=2))
    result = write(cluster, SequenceNumbers(), PLAIN)
    (failure,) = result.failures.values()
    assert (failure.name, failure.may_be_done, failure.attempts) == ("CONNECTION_LOST", True, 1)
    assert str(failure.message).endswith("it may have been written all the same")
    assert state.count(PRODUCE.key, 2) == 1
    assert ends(state) == [2, 2, 2]


def test_an_answer_that_never_comes(state: FakeCluster, cluster: Cluster) -> None:
    """A batch without number is not sent again, a numbered one is until the timeout; both failures have `may_be_done`."""
    state.faults.append(Fault(PRODUCE.key, Hang(), node_id=2, times=100))
    plain = write(cluster, SequenceNumbers(), PLAIN)
    numbered = write(cluster, init_producer_id(cluster, soon()), Delivery(), budget_ms=1_500)
    assert [
        result.failures[partition].may_be_done for result in (plain, numbered) for partition in result.failures
    ] == [True, True]
    assert [len(result.answers) for result in (plain, numbered)] == [2, 2]


@pytest.mark.parametrize("code", [7, 20])
def test_a_leader_that_wrote_and_says_no(state: FakeCluster, cluster: Cluster, code: int) -> None:
    """REQUEST_TIMED_OUT and NOT_ENOUGH_REPLICAS_AFTER_APPEND: the batch is in the leader's log already."""
    state.faults += [Fault(PRODUCE.key, refuse(code), node_id=1) for _ in range(2)]
    plain = write(cluster, SequenceNumbers(), PLAIN)
    assert [failure.may_be_done for failure in plain.failures.values()] == [True]
    assert len(write(cluster, init_producer_id(cluster, soon()), Delivery()).answers) == 3
    assert ends(state) == [4, 4, 4]


def test_a_moved_leader_is_looked_up(state: FakeCluster, cluster: Cluster) -> None:
    """After NOT_LEADER_OR_FOLLOWER nothing is written, so the batch goes to the new leader, with or without a number."""
    sequences = init_producer_id(cluster, soon())
    for used, delivery, epoch in ((sequences, Delivery(), 1), (SequenceNumbers(), PLAIN, 2)):
        moved = state.topics["news"].partitions[0]
        moved.leader_id, moved.leader_epoch = epoch + 1, epoch
        before = state.count(METADATA.key)
        assert len(write(cluster, used, delivery).answers) == 3
        assert state.count(METADATA.key) == before + 1
    assert ends(state) == [4, 4, 4]


def test_a_leader_that_moved_after_it_had_written(state: FakeCluster, cluster: Cluster) -> None:
    """NOT_LEADER_OR_FOLLOWER beside an offset: the batch was appended, so its failure has `may_be_done`."""
    state.faults.append(Fault(PRODUCE.key, refuse(6, base_offset=0), node_id=1))
    state.faults.append(Fault(PRODUCE.key, refuse(6), node_id=1, times=100))
    (failure,) = write(cluster, init_producer_id(cluster, soon()), Delivery(), budget_ms=1_500).failures.values()
    assert (failure.code, failure.may_be_done) == (6, True)
    assert str(failure.message).endswith("it may have been written all the same")


def test_a_broker_that_is_not_there(brokers: dict[int, FakeBroker], cluster: Cluster) -> None:
    """No request arrives, so it is retried until the timeout, and the failure does not have `may_be_done`."""
    brokers[3].die()
    (failure,) = write(cluster, SequenceNumbers(), PLAIN, budget_ms=1_500).failures.values()
    assert (failure.name, failure.may_be_done) == ("CONNECTION_FAILED", False)
    assert failure.attempts > 1


@pytest.mark.parametrize("code", [10, 18, 29, 19, 87])
def test_refusals_say_what_the_broker_said(state: FakeCluster, cluster: Cluster, code: int) -> None:
    """Too large, no permission, too few replicas, bad records: the failure has the broker's message and refused records."""
    named = (BatchIndexAndErrorMessage(batch_index=1, batch_index_error_message="no key"),)
    action = refuse(code, error_message="because", record_errors=named)
    state.faults.append(Fault(PRODUCE.key, action, node_id=1, times=100))
    result = write(cluster, init_producer_id(cluster, soon()), Delivery(), budget_ms=1_500)
    ((partition, failure),) = result.failures.items()
    assert (failure.code, failure.message, failure.may_be_done) == (code, "because", False)
    assert (failure.attempts > 1) == (code == 19)
    assert result.refused == {partition: {1: "no key"}}


def test_a_batch_that_the_broker_has_already(state: FakeCluster, cluster: Cluster) -> None:
    """DUPLICATE_SEQUENCE_NUMBER is success, at an unknown offset."""
    state.faults.append(Fault(PRODUCE.key, refuse(46), node_id=1))
    result = write(cluster, init_producer_id(cluster, soon()), Delivery())
    assert sorted(answer.base_offset for answer in result.answers.values()) == [-1, 0, 0]


def test_without_acks_nothing_is_waited_for(state: FakeCluster, cluster: Cluster) -> None:
    """Only that the batch was sent is known; the connection is used for the next request."""
    delivery = Delivery(acks=NO_ACKS)
    for _ in range(2):
        result = write(cluster, SequenceNumbers(), delivery)
        assert {answer.base_offset for answer in result.answers.values()} == {-1}
    last = write(cluster, SequenceNumbers(), PLAIN)
    assert {answer.base_offset for answer in last.answers.values()} == {4}
    assert ends(state) == [6, 6, 6]


def test_without_acks_a_broker_that_is_not_there(
    brokers: dict[int, FakeBroker], state: FakeCluster, cluster: Cluster
) -> None:
    """A batch that could not be sent is a failure; so is a partition without a leader."""
    brokers[3].die()
    state.topics["news"].partitions[0].leader_id = -1
    cluster.refresh({"news"}, soon())
    result = write(cluster, SequenceNumbers(), Delivery(acks=NO_ACKS))
    assert {failure.name for failure in result.failures.values()} == {"CONNECTION_FAILED", "LEADER_NOT_AVAILABLE"}
    assert len(result.answers) == 1


def test_ids_of_other_topics_are_not_looked_at() -> None:
    """A writer knows the ids of all its topics, and an answer is about a few of them."""

    class Ids(dict[str, bytes]):
        def items(self) -> Any:
            raise AssertionError("all topics are looked at")

    ids = Ids({f"topic-{number}": number.to_bytes(16, "big") for number in range(1, 9)})
    answer = PartitionProduceResponse(index=2, error_code=0, base_offset=7, record_errors=())
    topic = TopicProduceResponse(name="", topic_id=ids["topic-3"], partition_responses=(answer,))
    wanted = TopicPartition("topic-3", 2)
    response = ProduceResponse(responses=(topic,))
    assert list(read_answers(response, [wanted], Delivery(topic_ids=ids))) == [(wanted, 0, answer)]
