"""Splits are read while leaders, replicas, connections, logs and topics change, or the outcome has the reason."""

from typing import Any

import pytest

from kafka_lagoon.client.broker import Broker
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import AddressRefused, AuthenticationFailed, PipelineError, UnsupportedVersion
from kafka_lagoon.fetch.reader import SplitReader
from kafka_lagoon.protocol.messages.fetch import FETCH, EpochEndOffset
from kafka_lagoon.protocol.messages.metadata import METADATA
from tests.clock import CLOCK
from tests.fake.broker import FakeBroker
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Altered, Close, Fault, Raw, Slow
from tests.fetch.reading import Connect, altered, check, fill, log, read, small, split


@pytest.mark.parametrize("version", [18, 11])
def test_the_leader_moves(state: FakeCluster, connect: Connect, version: int) -> None:
    """The new leader is used at once if the old leader names it, and is looked up otherwise."""
    fill(state)
    state.highest[FETCH.key] = version
    cluster = connect()
    log(state).leader_id, log(state).leader_epoch = 2, 1
    refreshes = state.count(METADATA.key)
    values, outcome = read(cluster, split(state), small())
    assert (len(values), outcome.failure) == (20, None)
    assert state.count(METADATA.key) - refreshes == (0 if version == 18 else 1)


def test_the_leader_moves_meanwhile(state: FakeCluster, connect: Connect) -> None:
    """The new leader is used also if the old one moves while a response is decoded."""
    fill(state)
    reader = SplitReader(connect(), split(state), small())
    rows = 0
    for number, arrow_batch in enumerate(reader.batches()):
        log(state).leader_id, log(state).leader_epoch = number % 3 + 1, number + 1
        rows += arrow_batch.num_rows
    check(split(state), reader.outcome)
    assert (rows, reader.outcome.failure) == (20, None)


def fetched_from(cluster: Cluster) -> set[int | None]:
    """Return the brokers that answered Fetch."""
    return {
        node_id for (api, node_id), one in cluster.request_stats.by_api.items() if api == FETCH.name and one.answers
    }


def test_a_replica_in_our_rack(state: FakeCluster, connect: Connect) -> None:
    """KIP-392: the leader names a replica in the reader's rack, which is then read."""
    fill(state)
    log(state).preferred["here"] = 3
    cluster = connect(client_rack="here")
    values, outcome = read(cluster, split(state), small())
    assert (len(values), outcome.failure) == (20, None)
    assert fetched_from(cluster) == {1, 3}
    assert cluster.request_stats.by_api[FETCH.name, 1].answers == 1


def test_other_racks_read_from_the_leader(state: FakeCluster, connect: Connect) -> None:
    """Without a rack, or with another one, only the leader is read."""
    fill(state)
    log(state).preferred["here"] = 3
    for rack in ({}, {"client_rack": "there"}):
        cluster = connect(**rack)
        assert len(read(cluster, split(state))[0]) == 20
        assert fetched_from(cluster) == {1}


@pytest.mark.parametrize("action", [Close(), altered(lambda partition: setattr(partition, "error_code", 9))])
def test_a_replica_that_fails(state: FakeCluster, connect: Connect, action: Any) -> None:
    """The leader is read if the replica that it named refuses or disconnects."""
    fill(state)
    log(state).preferred["here"] = 3
    state.faults.append(Fault(FETCH.key, action, node_id=3, times=1000))
    values, outcome = read(connect(client_rack="here"), split(state))
    assert (len(values), outcome.failure) == (20, None)


def test_a_replica_that_has_nothing_yet(state: FakeCluster, connect: Connect) -> None:
    """An empty response of a replica is not taken for the end of the log: the leader has the records."""
    fill(state)
    log(state).preferred["here"] = 3
    empty = altered(lambda partition: setattr(partition, "records", b""))
    state.faults.append(Fault(FETCH.key, empty, node_id=3, times=1000))
    values, outcome = read(connect(client_rack="here"), split(state), small())
    assert (len(values), outcome.failure, outcome.counts.compacted) == (20, None, 0)


def test_no_leader(state: FakeCluster, connect: Connect) -> None:
    """Reading waits for a leader, and the failure names its absence."""
    fill(state)
    cluster = connect()
    log(state).leader_id, log(state).leader_epoch = -1, 1
    cluster.refresh({"t"}, Deadline.after(CLOCK, 1_000))
    assert read(cluster, split(state))[1].failure == "LEADER_NOT_AVAILABLE"
    log(state).leader_id, log(state).leader_epoch = 3, 2
    assert len(read(cluster, split(state))[0]) == 20


@pytest.mark.parametrize("code", [5, 9, 56, 74, 75, 78, -1, 2])
def test_passing_refusals(state: FakeCluster, connect: Connect, code: int) -> None:
    """After an error that Kafka calls retriable, or an unknown error, the request is repeated."""

    def refuse(partition: Any) -> None:
        partition.error_code, partition.records = code, None

    fill(state)
    state.faults.append(Fault(FETCH.key, altered(refuse), times=2))
    values, outcome = read(connect(), split(state), small())
    assert (len(values), outcome.failure) == (20, None)


@pytest.mark.parametrize(("code", "name"), [(29, "TOPIC_AUTHORIZATION_FAILED"), (56, "KAFKA_STORAGE_ERROR")])
def test_lasting_refusals(state: FakeCluster, connect: Connect, code: int, name: str) -> None:
    """A final error ends the split with Kafka's name, and the records read before are kept."""
    fill(state)
    reader = SplitReader(connect(), split(state), small())
    rows = 0
    for arrow_batch in reader.batches():
        rows += arrow_batch.num_rows
        change = altered(lambda partition: setattr(partition, "error_code", code))
        state.faults.append(Fault(FETCH.key, change, times=1000))
    check(split(state), reader.outcome)
    assert reader.outcome.failure == name
    assert reader.outcome.next_offset == rows > 0


@pytest.mark.parametrize("action", [Close(), Close(sent=60), Slow(0.7), Raw(b"\0\0\0\6\0\0\0\1ab")])
def test_a_connection_that_fails(state: FakeCluster, connect: Connect, action: Any) -> None:
    """After a closed, cut, slow or garbled response the request is repeated."""
    fill(state)
    state.faults.append(Fault(FETCH.key, action))
    values, outcome = read(connect(), split(state), small(stall_timeout_ms=5_000))
    assert (len(values), outcome.failure) == (20, None)


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (AuthenticationFailed("broker 1", "authenticate", "PLAIN: wrong password"), "AUTHENTICATION_FAILED"),
        (AddressRefused("broker 1", "resolve", "loopback"), "ADDRESS_REFUSED"),
        (UnsupportedVersion("Fetch", (4, 18), None, "broker 1", None), "UNSUPPORTED_VERSION"),
    ],
)
def test_errors_that_no_attempt_mends(
    state: FakeCluster, connect: Connect, monkeypatch: pytest.MonkeyPatch, error: PipelineError, name: str
) -> None:
    """Wrong credentials, forbidden addresses and old brokers end the split at once: nothing is tried again."""

    def refuse(broker: Broker, _api: Any, _request: object, _deadline: Deadline, versions: Any) -> Any:
        attempts.append((broker.node_id, versions))
        raise error

    fill(state)
    cluster, attempts = connect(), list[Any]()
    monkeypatch.setattr(Broker, "ask", refuse)
    values, outcome = read(cluster, split(state))
    assert (values, outcome.failure, outcome.detail) == ({}, name, str(error))
    assert len(attempts) == len(set(attempts))


def test_an_answer_of_a_proxy(state: FakeCluster, connect: Connect) -> None:
    """A gateway's page of an error is no batch that is too large, although its first bytes are a large number: it may pass."""
    fill(state)
    page = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"
    state.faults.append(Fault(FETCH.key, Raw(page), times=2))
    values, outcome = read(connect(), split(state), small(stall_timeout_ms=5_000))
    assert (len(values), outcome.failure) == (20, None)
    state.faults.append(Fault(FETCH.key, Raw(page), times=1000))
    _, outcome = read(connect(), split(state), small())
    assert (outcome.failure, outcome.detail) == ("PROTOCOL_ERROR", "the answer is HTTP, not Kafka")


def test_a_broker_that_dies(state: FakeCluster, brokers: dict[int, FakeBroker], connect: Connect) -> None:
    """Without another leader the read records are kept, and the failure names the lost connection."""
    fill(state)
    reader = SplitReader(connect(), split(state), small())
    batches = reader.batches()
    rows = next(batches).num_rows
    brokers[1].die()
    rows += sum(arrow_batch.num_rows for arrow_batch in batches)
    check(split(state), reader.outcome)
    assert reader.outcome.failure in {"CONNECTION_LOST", "CONNECTION_FAILED"}
    assert reader.outcome.next_offset == rows


def test_the_log_starts_later(state: FakeCluster, connect: Connect) -> None:
    """Records that were deleted before they were read are counted as lost, also within a batch, and are not read later."""
    fill(state)
    log(state).log_start_offset = 6
    values, outcome = read(connect(), split(state), small())
    assert list(values) == list(range(6, 20))
    assert outcome.counts.lost == 6


def test_the_log_starts_after_the_split(state: FakeCluster, connect: Connect) -> None:
    """All offsets of the split are lost, which is no failure."""
    fill(state)
    log(state).log_start_offset = 15
    values, outcome = read(connect(), split(state, from_offset=3, to_offset=12), small())
    assert (values, outcome.counts.lost, outcome.next_offset, outcome.failure) == ({}, 9, 12, None)


@pytest.mark.parametrize("start", [5, 6, 8, 20])
@pytest.mark.parametrize(("answers", "position"), [(1, 4), (2, 8)], ids=["next answer", "answer after the next"])
def test_the_log_start_moves_meanwhile(
    state: FakeCluster, connect: Connect, start: int, answers: int, position: int
) -> None:
    """Records that are deleted before they are requested are lost; requested records are read.

    The log start moves when that many answers are made, each of them a batch of four.
    """

    def move(answer: Any) -> Any:
        log(state).log_start_offset = start
        return answer

    fill(state)
    state.faults += [
        Fault(FETCH.key, Altered(lambda answer: answer), times=answers - 1),
        Fault(FETCH.key, Altered(move)),
    ]
    values, outcome = read(connect(), split(state), small())
    first_left = max(position, start)
    assert list(values) == [*range(position), *range(first_left, 20)]
    assert (outcome.counts.lost, outcome.failure) == (first_left - position, None)


def test_the_leader_is_gone_after_the_log_start_moved(state: FakeCluster, connect: Connect) -> None:
    """While the range of a log is looked up its leader fails: the next one is waited for, as in any other request."""

    def move(answer: Any) -> Any:
        log(state).log_start_offset, log(state).leader_id = 6, -1
        answer.responses[0].partitions[0].error_code = 1
        return answer

    def elect(answer: Any) -> Any:
        answers.append(answer)
        if len(answers) == 6:
            log(state).leader_id, log(state).leader_epoch = 3, 1
        return answer

    fill(state)
    cluster, answers = connect(), list[Any]()
    state.faults += [Fault(FETCH.key, Altered(move)), Fault(METADATA.key, Altered(elect), times=1000)]
    values, outcome = read(cluster, split(state), small(stall_timeout_ms=10_000))
    assert (list(values), outcome.counts.lost, outcome.failure) == (list(range(6, 20)), 6, None)


def test_within_an_answer(state: FakeCluster, connect: Connect) -> None:
    """The log starts in the middle of a batch of the same response."""
    fill(state)
    moved = altered(lambda partition: setattr(partition, "log_start_offset", 6))
    state.faults.append(Fault(FETCH.key, moved))
    values, outcome = read(connect(), split(state))
    assert list(values) == list(range(6, 20))
    assert outcome.counts.lost == 6


def test_the_log_ends_earlier(state: FakeCluster, connect: Connect) -> None:
    """A position after the end of the log means a truncation, and nothing is reset."""
    fill(state)
    values, outcome = read(connect(), split(state, from_offset=30, to_offset=40, stable_end=40))
    assert (values, outcome.failure, outcome.truncated_to) == ({}, "LOG_TRUNCATED", 20)


def test_a_diverging_epoch(state: FakeCluster, connect: Connect) -> None:
    """A leader whose log ends earlier for our epoch is trusted; read records are kept, and the outcome has the offset."""
    fill(state)
    log(state).epoch_ends = {0: 6}
    _, outcome = read(connect(), split(state, from_offset=8, last_epoch=0), small())
    assert (outcome.failure, outcome.truncated_to, outcome.next_offset) == ("LOG_TRUNCATED", 6, 8)


def test_an_epoch_that_the_leader_lacks(state: FakeCluster, connect: Connect) -> None:
    """The leader's epochs go on after the position: compaction may have removed the last epoch, and nothing was truncated."""
    fill(state)
    log(state).epoch_ends = {0: 20}
    values, outcome = read(connect(), split(state, from_offset=8, last_epoch=3), small())
    assert (list(values), outcome.failure, outcome.truncated_to) == (list(range(8, 20)), None, None)


def test_a_leader_that_always_names_an_epoch(state: FakeCluster, connect: Connect) -> None:
    """An answer about an epoch that was not sent is no truncation, and does not keep the reader for ever."""

    def name_epoch(answer: Any) -> Any:
        answer.responses[0].partitions[0].diverging_epoch = EpochEndOffset(epoch=0, end_offset=20)
        return answer

    fill(state)
    state.faults.append(Fault(FETCH.key, Altered(name_epoch), times=1000))
    values, outcome = read(connect(), split(state, from_offset=8, last_epoch=3), small())
    assert (values, outcome.failure) == ({}, "NO_PROGRESS")


def test_an_epoch_that_is_forgotten(state: FakeCluster, connect: Connect) -> None:
    """A leader that does not know the epoch answers out of range: within its log that proves nothing."""

    def refuse(answer: Any) -> Any:
        if state.fetches[-1].topics[0].partitions[0].last_fetched_epoch == 3:
            answer.responses[0].partitions[0].error_code = 1
        return answer

    fill(state)
    state.faults.append(Fault(FETCH.key, Altered(refuse), times=1000))
    values, outcome = read(connect(), split(state, from_offset=4, last_epoch=3), small())
    assert (list(values), outcome.failure) == (list(range(4, 20)), None)


@pytest.mark.parametrize("version", [18, 12, 11])
def test_a_re_created_topic(state: FakeCluster, connect: Connect, version: int) -> None:
    """Nothing of it is read, not even from brokers that take only names (Kafka 2.8 to 3.0)."""
    fill(state)
    state.highest[FETCH.key] = version
    planned = split(state)
    state.topics["t"].topic_id = bytes(15) + b"\x99"
    values, outcome = read(connect(), planned)
    assert (values, outcome.failure) == ({}, "TOPIC_RECREATED")


@pytest.mark.parametrize("version", [18, 12])
def test_a_deleted_topic(state: FakeCluster, connect: Connect, version: int) -> None:
    """The topic is deleted if several answers agree; one broker may have old metadata."""
    fill(state)
    state.highest[FETCH.key] = version
    cluster, planned = connect(), split(state)
    state.topics["other"] = state.topics.pop("t")
    if version >= 13:
        state.topics["other"].topic_id = bytes(15) + b"\x99"
    assert read(cluster, planned)[1].failure == "TOPIC_DELETED"


def test_a_topic_that_is_deleted_before_its_leader_is_known(state: FakeCluster, connect: Connect) -> None:
    """A task that starts after the deletion finds no leader, and ends by the same reason as one that had one."""
    fill(state)
    planned = split(state)
    del state.topics["t"]
    cluster = connect()
    assert cluster.leader_of(planned.topic_partition) is None
    assert read(cluster, planned)[1].failure == "TOPIC_DELETED"


@pytest.mark.parametrize("code", [0, 3])
def test_a_broker_that_says_alone_that_the_topic_ended(state: FakeCluster, connect: Connect, code: int) -> None:
    """If only one broker reports a deletion or another id, the split stops with the leader's error."""
    fill(state)
    refused = altered(lambda partition: setattr(partition, "error_code", 100))

    def stale(answer: Any) -> Any:
        for topic in answer.topics:
            topic.error_code, topic.topic_id = code, bytes(15) + b"\x99"
        return answer

    cluster, planned = connect(), split(state)
    state.faults += [
        Fault(FETCH.key, refused, times=1000),
        Fault(METADATA.key, Altered(stale), node_id=1, times=1000),
    ]
    assert read(cluster, planned)[1].failure == "UNKNOWN_TOPIC_ID"


def test_a_broker_that_does_not_know_yet(state: FakeCluster, connect: Connect) -> None:
    """An unknown id that metadata confirm has not spread to the broker yet."""
    fill(state)
    unknown = altered(lambda partition: setattr(partition, "error_code", 100))
    state.faults.append(Fault(FETCH.key, unknown, times=4))
    assert len(read(connect(), split(state))[0]) == 20
