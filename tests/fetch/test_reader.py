"""Splits read from fake leaders: what is read, what is counted, and what becomes of everything that goes wrong."""

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.client.cluster import Cluster
from pipeline.client.deadline import Deadline
from pipeline.client.journal import Journal
from pipeline.fetch.reader import SplitReader
from pipeline.fetch.split import READ_UNCOMMITTED, Outcome, ReadOptions, Split
from pipeline.protocol.messages.fetch import FETCH
from pipeline.protocol.messages.list_offsets import LIST_OFFSETS
from pipeline.wire.primitives import uuid_text
from tests.clock import CLOCK
from tests.fake.batches import aborted, batch, marker
from tests.fake.broker import FakeBroker
from tests.fake.cluster import FakeBatch, FakeCluster, FakePartition
from tests.fake.faults import Altered, Close, Fault, Hang, Raw, Slow
from tests.impatient import impatient

Connect = Callable[..., Cluster]
QUICK = ReadOptions(fetch_wait_ms=10, patience_ms=1_500)


def small(**more: Any) -> ReadOptions:
    """Options under which an answer holds about one batch."""
    return ReadOptions(fetch_bytes=150, **{"fetch_wait_ms": 10, "patience_ms": 1_500, **more})


def log(state: FakeCluster) -> FakePartition:
    """The partition."""
    return state.topics["t"].partitions[0]


def fill(state: FakeCluster, batches: int = 5, records: int = 4) -> None:
    """Batches of some records each, without gaps."""
    for number in range(batches):
        base = number * records
        log(state).append(batch(base, [b"%d" % offset for offset in range(base, base + records)]))


def split(state: FakeCluster, **more: Any) -> Split:
    """All of the log, unless told otherwise."""
    told = {
        "topic": "t",
        "topic_id": uuid_text(state.topics["t"].topic_id),
        "partition": 0,
        "from_offset": 0,
        "to_offset": log(state).high_watermark,
        "stable_end": log(state).high_watermark,
        **more,
    }
    return Split(**told)


def read(cluster: Cluster, wanted: Split, options: ReadOptions = QUICK) -> tuple[dict[int, bytes | None], Outcome]:
    """The values by offset, and the outcome, of which everything is checked that holds always."""
    reader = SplitReader(cluster, wanted, options)
    values: dict[int, bytes | None] = {}
    for rows in reader.batches():
        for offset, value in zip(rows["offset"].to_pylist(), rows["value"].to_pylist(), strict=True):
            assert offset not in values
            values[offset] = value
    outcome = reader.outcome
    check(wanted, outcome)
    assert outcome.counts.records == len(values)
    assert all(wanted.from_offset <= offset < outcome.next_offset for offset in values)
    return values, outcome


def check(wanted: Split, outcome: Outcome) -> None:
    """Counts add up to what was passed; nothing is left only if nothing failed; no thread is left."""
    assert outcome.counts.offsets() == outcome.next_offset - wanted.from_offset
    assert wanted.from_offset <= outcome.next_offset <= wanted.to_offset
    assert (outcome.failure is None) == (outcome.next_offset == wanted.to_offset)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("fetch")]


def altered(change: Callable[[Any], None]) -> Altered:
    """An answer whose partition is changed."""

    def apply(answer: Any) -> Any:
        change(answer.responses[0].partitions[0])
        return answer

    return Altered(apply)


def test_everything(state: FakeCluster, connect: Connect) -> None:
    """All records in order, whatever part of them one answer holds."""
    fill(state)
    for options in (QUICK, small()):
        values, outcome = read(connect(), split(state), options)
        assert list(values.items()) == [(offset, b"%d" % offset) for offset in range(20)]
        assert (outcome.next_offset, outcome.failure, outcome.counts.records) == (20, None, 20)


def test_a_part(state: FakeCluster, connect: Connect) -> None:
    """A split that begins and ends within batches gets its own records and no others."""
    fill(state)
    values, outcome = read(connect(), split(state, from_offset=6, to_offset=13), small())
    assert list(values) == list(range(6, 13))
    assert outcome.next_offset == 13


def test_nothing(state: FakeCluster, connect: Connect) -> None:
    """An empty split asks nobody."""
    fill(state)
    assert read(connect(), split(state, from_offset=7, to_offset=7))[0] == {}
    assert not state.fetches


@pytest.mark.parametrize("version", [18, 13, 12, 11, 9, 4, 3, 0])
def test_names_and_ids(state: FakeCluster, connect: Connect, version: int) -> None:
    """The id is asked for from v13 on, the name before; both read the same."""
    fill(state)
    state.highest[FETCH.key] = version
    values, _ = read(connect(), split(state, last_epoch=-1), small())
    assert list(values) == list(range(20))
    assert {asked for _, key, asked in state.asked if key == FETCH.key} == {version}
    assert {request.topics[0].topic for request in state.fetches} == ({""} if version >= 13 else {"t"})


def test_without_an_id(state: FakeCluster, connect: Connect) -> None:
    """A split without an id is read by name, though the broker knows ids."""
    fill(state)
    assert list(read(connect(), split(state, topic_id=None))[0]) == list(range(20))
    assert {asked for _, key, asked in state.asked if key == FETCH.key} == {12}


def test_terms(state: FakeCluster, connect: Connect) -> None:
    """The term of the record before goes with every request, and the terms met are told with their first offsets."""
    log(state).append(batch(0, [b"a"] * 4, leader_epoch=2), batch(4, [b"b"] * 4, leader_epoch=2))
    log(state).append(batch(8, [b"c"] * 4, leader_epoch=5))
    log(state).leader_epoch = 5
    _, outcome = read(connect(), split(state, from_offset=2, last_epoch=2), small())
    asked = [request.topics[0].partitions[0] for request in state.fetches]
    assert [(one.fetch_offset, one.last_fetched_epoch) for one in asked] == [(2, 2), (4, 2), (8, 2)]
    assert {one.current_leader_epoch for one in asked} == {5}
    assert (outcome.epochs, outcome.leader_epoch) == ({2: 2, 5: 8}, 5)


def test_sessionless_consumer(state: FakeCluster, connect: Connect) -> None:
    """Requests have no session, no rack and no replica, whatever is read."""
    fill(state)
    read(connect(), split(state), small())
    facts = {(one.session_id, one.session_epoch, one.rack_id, one.replica_state.replica_id) for one in state.fetches}
    assert facts == {(0, -1, "", -1)}


def with_transactions(state: FakeCluster) -> None:
    """0-3 plain, 4-7 aborted with its marker at 8, 9-12 committed with its marker at 13, 14-17 open."""
    log(state).append(batch(0, [b"p"] * 4), aborted(4, [b"a"] * 4, 7), marker(8, 7))
    log(state).append(batch(9, [b"c"] * 4, producer_id=8, attributes=0x10), marker(13, 8, commit=True))
    log(state).append(batch(14, [b"o"] * 4, producer_id=9, attributes=0x10))
    log(state).last_stable_offset = 14


def test_committed(state: FakeCluster, connect: Connect) -> None:
    """Aborted records are left out and counted, and so are markers."""
    with_transactions(state)
    values, outcome = read(connect(), split(state, to_offset=14, stable_end=14), small())
    assert list(values) == [0, 1, 2, 3, 9, 10, 11, 12]
    assert (outcome.counts.aborted, outcome.counts.control) == (4, 2)
    assert {request.isolation_level for request in state.fetches} == {1}


def test_uncommitted(state: FakeCluster, connect: Connect) -> None:
    """Aborted records are kept and marked; up to the last stable offset brokers are asked for the list of them."""
    with_transactions(state)
    reader = SplitReader(connect(), split(state, stable_end=14), small(isolation_level=READ_UNCOMMITTED))
    marked: dict[int, bool | None] = {}
    for rows in reader.batches():
        marked |= dict(zip(rows["offset"].to_pylist(), rows["is_aborted"].to_pylist(), strict=True))
    check(split(state, stable_end=14), reader.outcome)
    assert [offset for offset, is_aborted in marked.items() if is_aborted] == [4, 5, 6, 7]
    assert [offset for offset, is_aborted in marked.items() if is_aborted is None] == [14, 15, 16, 17]
    asked = {request.topics[0].partitions[0].fetch_offset: request.isolation_level for request in state.fetches}
    assert {offset: level for offset, level in asked.items() if offset >= 14} == {14: 0}
    assert {level for offset, level in asked.items() if offset < 14} == {1}


def test_the_next_answer_is_under_way(state: FakeCluster, connect: Connect) -> None:
    """While the caller works on the first answer the second is asked for, and no third."""
    fill(state)
    reader = SplitReader(connect(), split(state), small())
    batches = reader.batches()
    next(batches)
    until(lambda: len(state.fetches) == 2)
    time.sleep(0.1)
    assert len(state.fetches) == 2
    assert sum(rows.num_rows for rows in batches) == 16
    check(split(state), reader.outcome)


def until(holds: Callable[[], bool], seconds: float = 5) -> None:
    """Wait until something holds."""
    give_up = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < give_up
        time.sleep(0.005)


@pytest.mark.parametrize("ending", ["close the reader", "close the iterator", "drop the iterator"])
def test_an_early_exit_leaves_nothing(state: FakeCluster, connect: Connect, ending: str) -> None:
    """Whoever stops early waits for no broker, and neither thread nor request is left."""
    fill(state)
    cluster = connect(request_timeout_ms=30_000)
    reader = SplitReader(cluster, split(state), small(patience_ms=30_000))
    batches = reader.batches()
    state.faults += [Fault(FETCH.key, Altered(lambda answer: answer), times=2), Fault(FETCH.key, Hang(), times=9)]
    next(batches)
    next(batches)
    until(lambda: state.count(FETCH.key) == 3)
    started = time.monotonic()
    if ending == "close the reader":
        reader.close()
    elif ending == "close the iterator":
        batches.close()  # type: ignore[attr-defined]
    else:
        del batches
    assert time.monotonic() - started < 2
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("fetch")]
    state.faults.clear()
    assert list(read(cluster, split(state))[0]) == list(range(20))


def test_throttled_without_topics(state: FakeCluster, connect: Connect) -> None:
    """An answer that was throttled away is no end: the time is waited for, and reading goes on."""

    def throttle(answer: Any) -> Any:
        answer.responses, answer.throttle_time_ms = (), 100
        return answer

    fill(state)
    state.faults.append(Fault(FETCH.key, Altered(throttle), times=3))
    started = time.monotonic()
    values, outcome = read(connect(), split(state))
    assert time.monotonic() - started > 0.25
    assert (len(values), outcome.failure) == (20, None)


def test_throttled_for_ever(state: FakeCluster, connect: Connect) -> None:
    """Patience ends, and says that it was throttling."""

    def throttle(answer: Any) -> Any:
        answer.responses, answer.throttle_time_ms = (), 100
        return answer

    fill(state)
    state.faults.append(Fault(FETCH.key, Altered(throttle), times=1000))
    _, outcome = read(connect(), split(state))
    assert (outcome.failure, outcome.next_offset) == ("THROTTLED", 0)


def test_empty_answers(state: FakeCluster, connect: Connect) -> None:
    """An empty answer is not the end, also one with a high watermark that is behind."""

    def empty(partition: Any) -> None:
        partition.records, partition.high_watermark = None, 3

    fill(state)
    state.faults.append(Fault(FETCH.key, altered(empty), times=5))
    values, outcome = read(connect(), split(state), small())
    assert (len(values), outcome.failure) == (20, None)


def test_nothing_more_comes(state: FakeCluster, connect: Connect) -> None:
    """Where the log ends before the split does, patience ends too."""
    fill(state)
    values, outcome = read(connect(), split(state, to_offset=25))
    assert (len(values), outcome.next_offset, outcome.failure) == (20, 20, "NO_PROGRESS")
    assert "offset 20" in str(outcome.detail)


@pytest.mark.parametrize("version", [18, 11])
def test_the_leader_moves(state: FakeCluster, connect: Connect, version: int) -> None:
    """It is followed at once if the old one says who it is, and looked up otherwise."""
    fill(state)
    state.highest[FETCH.key] = version
    cluster = connect()
    log(state).leader_id, log(state).leader_epoch = 2, 1
    asked = len([one for one in state.asked if one[1] == 3])
    values, outcome = read(cluster, split(state), small())
    assert (len(values), outcome.failure) == (20, None)
    assert len([one for one in state.asked if one[1] == 3]) - asked == (0 if version == 18 else 1)


def test_the_leader_moves_meanwhile(state: FakeCluster, connect: Connect) -> None:
    """Also while an answer is decoded."""
    fill(state)
    reader = SplitReader(connect(), split(state), small())
    rows = 0
    for number, arrow_batch in enumerate(reader.batches()):
        log(state).leader_id, log(state).leader_epoch = number % 3 + 1, number + 1
        rows += arrow_batch.num_rows
    check(split(state), reader.outcome)
    assert (rows, reader.outcome.failure) == (20, None)


def fetched_from(cluster: Cluster) -> set[int | None]:
    """The brokers that answered Fetch."""
    return {one.node_id for one in cluster.journal.exchanges if one.api == FETCH.name}


def test_a_replica_in_our_rack(state: FakeCluster, connect: Connect) -> None:
    """KIP-392: the leader sends readers of a rack to a replica there, and that one is read."""
    fill(state)
    log(state).preferred["here"] = 3
    cluster = connect(client_rack="here")
    values, outcome = read(cluster, split(state), small())
    assert (len(values), outcome.failure) == (20, None)
    fetches = [one.node_id for one in cluster.journal.exchanges if one.api == FETCH.name]
    assert fetches.count(1) == 1
    assert set(fetches) == {1, 3}


def test_other_racks_read_from_the_leader(state: FakeCluster, connect: Connect) -> None:
    """Without a rack of ours, or with another one, nobody else is asked."""
    fill(state)
    log(state).preferred["here"] = 3
    for told in ({}, {"client_rack": "there"}):
        cluster = connect(**told)
        assert len(read(cluster, split(state))[0]) == 20
        assert fetched_from(cluster) == {1}


@pytest.mark.parametrize("action", [Close(), altered(lambda one: setattr(one, "error_code", 9))])
def test_a_replica_that_fails(state: FakeCluster, connect: Connect, action: Any) -> None:
    """The leader itself is read when the replica that it named refuses or drops us."""
    fill(state)
    log(state).preferred["here"] = 3
    state.faults.append(Fault(FETCH.key, action, node_id=3, times=1000))
    values, outcome = read(connect(client_rack="here"), split(state))
    assert (len(values), outcome.failure) == (20, None)


def test_a_replica_that_has_nothing_yet(state: FakeCluster, connect: Connect) -> None:
    """An empty answer of a replica is not taken for the end of the log: the leader has the records."""
    fill(state)
    log(state).preferred["here"] = 3
    empty = altered(lambda one: setattr(one, "records", b""))
    state.faults.append(Fault(FETCH.key, empty, node_id=3, times=1000))
    values, outcome = read(connect(client_rack="here"), split(state), small())
    assert (len(values), outcome.failure, outcome.counts.compacted) == (20, None, 0)


def test_no_leader(state: FakeCluster, connect: Connect) -> None:
    """A partition without a leader is waited for, and named when nobody comes."""
    fill(state)
    cluster = connect()
    log(state).leader_id, log(state).leader_epoch = -1, 1
    cluster.refresh({"t"}, Deadline.after(CLOCK, 1_000))
    assert read(cluster, split(state))[1].failure == "LEADER_NOT_AVAILABLE"
    log(state).leader_id, log(state).leader_epoch = 3, 2
    assert len(read(cluster, split(state))[0]) == 20


@pytest.mark.parametrize("code", [5, 9, 56, 74, 75, 78, -1, 2])
def test_passing_refusals(state: FakeCluster, connect: Connect, code: int) -> None:
    """What Kafka calls retriable, and an error that it does not explain, is asked again."""

    def refuse(partition: Any) -> None:
        partition.error_code, partition.records = code, None

    fill(state)
    state.faults.append(Fault(FETCH.key, altered(refuse), times=2))
    values, outcome = read(connect(), split(state), small())
    assert (len(values), outcome.failure) == (20, None)


@pytest.mark.parametrize(("code", "name"), [(29, "TOPIC_AUTHORIZATION_FAILED"), (56, "KAFKA_STORAGE_ERROR")])
def test_lasting_refusals(state: FakeCluster, connect: Connect, code: int, name: str) -> None:
    """What lasts ends the split with Kafka's name, and what was read before stands."""
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
    """Closed, cut, too slow or garbled: the answer is asked for again."""
    fill(state)
    state.faults.append(Fault(FETCH.key, action))
    values, outcome = read(connect(), split(state), small(patience_ms=5_000))
    assert (len(values), outcome.failure) == (20, None)


def test_a_broker_that_dies(state: FakeCluster, brokers: dict[int, FakeBroker], connect: Connect) -> None:
    """Nobody takes over: what was read stands, and the connection's end is named."""
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
    """What was deleted before it was read is counted as lost, from within a batch too, and does not come back."""
    fill(state)
    log(state).log_start_offset = 6
    values, outcome = read(connect(), split(state), small())
    assert list(values) == list(range(6, 20))
    assert outcome.counts.lost == 6


def test_the_log_starts_behind_the_split(state: FakeCluster, connect: Connect) -> None:
    """All of it is lost, and that is no failure to read."""
    fill(state)
    log(state).log_start_offset = 15
    values, outcome = read(connect(), split(state, from_offset=3, to_offset=12), small())
    assert (values, outcome.counts.lost, outcome.next_offset, outcome.failure) == ({}, 9, 12, None)


@pytest.mark.parametrize("start", [5, 6, 8, 20])
def test_the_log_start_moves_meanwhile(state: FakeCluster, connect: Connect, start: int) -> None:
    """An answer that still holds deleted records says so: they are lost."""
    fill(state)
    reader = SplitReader(connect(), split(state), small())
    batches = reader.batches()
    offsets = next(batches)["offset"].to_pylist()
    state.faults.clear()
    log(state).log_start_offset = start
    for rows in batches:
        offsets += rows["offset"].to_pylist()
    check(split(state), reader.outcome)
    held = offsets[-1] if start == 20 else None  # the second answer was under way already
    assert held in {None, 3, 7}
    assert reader.outcome.counts.lost + len(offsets) == 20
    assert reader.outcome.counts.lost > 0 or start in {5, 6, 8}


def test_within_an_answer(state: FakeCluster, connect: Connect) -> None:
    """A log start in the middle of a batch that the same answer ships."""
    fill(state)
    moved = altered(lambda partition: setattr(partition, "log_start_offset", 6))
    state.faults.append(Fault(FETCH.key, moved))
    values, outcome = read(connect(), split(state))
    assert list(values) == list(range(6, 20))
    assert outcome.counts.lost == 6


def test_the_log_ends_earlier(state: FakeCluster, connect: Connect) -> None:
    """A position behind the end of the log means that it was cut off, and nothing is reset."""
    fill(state)
    values, outcome = read(connect(), split(state, from_offset=30, to_offset=40, stable_end=40))
    assert (values, outcome.failure, outcome.truncated_to) == ({}, "LOG_TRUNCATED", 20)


def test_a_diverging_term(state: FakeCluster, connect: Connect) -> None:
    """A leader whose log ends earlier for our term is believed; what was read stands and the point is told."""
    fill(state)
    log(state).epoch_ends = {0: 6}
    _, outcome = read(connect(), split(state, from_offset=8, last_epoch=0), small())
    assert (outcome.failure, outcome.truncated_to, outcome.next_offset) == ("LOG_TRUNCATED", 6, 8)


def test_a_term_that_is_forgotten(state: FakeCluster, connect: Connect) -> None:
    """A leader that cannot judge the term answers out of range: within its log that proves nothing."""

    def refuse(answer: Any) -> Any:
        if state.fetches[-1].topics[0].partitions[0].last_fetched_epoch == 3:
            answer.responses[0].partitions[0].error_code = 1
        return answer

    fill(state)
    state.faults.append(Fault(FETCH.key, Altered(refuse), times=1000))
    values, outcome = read(connect(), split(state, from_offset=4, last_epoch=3), small())
    assert (list(values), outcome.failure) == (list(range(4, 20)), None)


def test_a_topic_made_anew(state: FakeCluster, connect: Connect) -> None:
    """Its id is another one: nothing of it is read."""
    fill(state)
    planned = split(state)
    state.topics["t"].topic_id = bytes(15) + b"\x99"
    values, outcome = read(connect(), planned)
    assert (values, outcome.failure) == ({}, "TOPIC_RECREATED")


@pytest.mark.parametrize("version", [18, 12])
def test_a_deleted_topic(state: FakeCluster, connect: Connect, version: int) -> None:
    """It is gone when that is heard several times; one broker may be behind."""
    fill(state)
    state.highest[FETCH.key] = version
    cluster, planned = connect(), split(state)
    state.topics["other"] = state.topics.pop("t")
    if version >= 13:
        state.topics["other"].topic_id = bytes(15) + b"\x99"
    assert read(cluster, planned)[1].failure == "TOPIC_DELETED"


def test_a_broker_that_does_not_know_yet(state: FakeCluster, connect: Connect) -> None:
    """An unknown id that metadata confirms is news that has not spread."""
    fill(state)
    unknown = altered(lambda partition: setattr(partition, "error_code", 100))
    state.faults.append(Fault(FETCH.key, unknown, times=4))
    assert len(read(connect(), split(state))[0]) == 20


@pytest.mark.parametrize("version", [2, 4])
def test_a_batch_beyond_the_limit(state: FakeCluster, connect: Connect, version: int) -> None:
    """Old brokers cut it off: then the limit is raised for it. Others send it whole."""
    log(state).append(batch(0, [bytes(10_000)]), batch(1, [b"a"]))
    state.highest[FETCH.key] = version
    values, outcome = read(connect(), split(state), small())
    assert (list(values), outcome.failure) == ([0, 1], None)
    limits = [request.topics[0].partitions[0].partition_max_bytes for request in state.fetches]
    assert max(limits) > 10_000 if version == 2 else set(limits) == {150}
    assert limits[-1] == 150


@pytest.mark.parametrize("version", [2, 4])
def test_a_batch_that_no_answer_may_hold(state: FakeCluster, connect: Connect, version: int) -> None:
    """Beyond the largest answer the split ends and names the setting."""
    log(state).append(batch(0, [b"a"]), batch(1, [bytes(200_000)]), batch(2, [b"a"]))
    state.highest[FETCH.key] = version
    values, outcome = read(connect(receive_message_max_bytes=150_000), split(state), small())
    assert (list(values), outcome.failure, outcome.next_offset) == ([0], "BATCH_TOO_LARGE", 1)
    assert "receive_message_max_bytes" in str(outcome.detail)


def damage(one: FakeBatch, position: int) -> bytes:
    """The batch with one byte turned round."""
    return one.data[:position] + bytes([one.data[position] ^ 0xFF]) + one.data[position + 1 :]


def test_a_corrupt_batch(state: FakeCluster, connect: Connect) -> None:
    """It is asked for once more, then it is a problem, and reading goes on behind it."""
    fill(state)
    log(state).log[2].data = damage(log(state).log[2], 70)
    values, outcome = read(connect(), split(state), small())
    assert list(values) == [*range(8), *range(12, 20)]
    assert (outcome.counts.corrupt, outcome.failure) == (4, None)
    assert [(one.base_offset, one.last_offset) for one in outcome.problems] == [(8, 11)]
    asked = [request.topics[0].partitions[0].fetch_offset for request in state.fetches]
    assert asked.count(8) == 2


def test_a_batch_that_suffered_on_the_way(state: FakeCluster, connect: Connect) -> None:
    """If it is whole the second time, nothing is lost and nothing is doubled."""

    def damaged(partition: Any) -> None:
        partition.records = damage(FakeBatch(0, 0, bytes(partition.records)), 200)

    fill(state)
    state.faults.append(Fault(FETCH.key, altered(damaged)))
    values, outcome = read(connect(), split(state))
    assert sorted(values) == list(range(20))
    assert (outcome.counts.corrupt, outcome.counts.records, outcome.problems) == (0, 20, ())


@pytest.mark.parametrize("position", [23, 24])
def test_a_last_offset_that_cannot_be(state: FakeCluster, connect: Connect, position: int) -> None:
    """A batch that lies about its end, and so has another checksum, reaches to the next one."""
    fill(state)
    log(state).log[2].data = damage(log(state).log[2], position)
    values, outcome = read(connect(), split(state))
    assert list(values) == [*range(8), *range(12, 20)]
    assert (outcome.failure, outcome.counts.corrupt) == (None, 4)


def test_a_broken_batch_behind_the_end(state: FakeCluster, connect: Connect) -> None:
    """It is for whoever reads there; what it leaves open before it is a gap."""
    fill(state, batches=1)
    log(state).append(batch(6, [b"6"]))
    log(state).log[1].data = damage(log(state).log[1], 60)
    values, outcome = read(connect(), split(state, to_offset=6))
    assert (list(values), outcome.counts.compacted, outcome.problems) == ([0, 1, 2, 3], 2, ())


@pytest.mark.parametrize("position", [8, 0])
def test_a_header_that_cannot_be(state: FakeCluster, connect: Connect, position: int) -> None:
    """Behind a wrong length or base offset nothing can be found: what was read before stands."""
    fill(state)
    log(state).log[2].data = damage(log(state).log[2], position)
    values, outcome = read(connect(), split(state))
    assert list(values) == list(range(8))
    assert (outcome.failure, outcome.next_offset) == ("CORRUPT_LOG", 8)


def test_gaps(state: FakeCluster, connect: Connect) -> None:
    """What cleaning removed is counted, before, between, within and behind batches."""
    log(state).append(batch(3, [b"a"] * 2, deltas=[0, 3], last_delta=5), batch(12, [b"b"] * 2))
    values, outcome = read(connect(), split(state), small())
    assert list(values) == [3, 6, 12, 13]
    assert outcome.counts.compacted == 10


def test_nothing_is_left_at_the_end(state: FakeCluster, connect: Connect) -> None:
    """Cleaning may remove a log's last records: empty answers of a log that goes on there prove it."""
    fill(state)
    log(state).high_watermark = 25
    values, outcome = read(connect(), split(state))
    assert (len(values), outcome.counts.compacted, outcome.failure) == (20, 5, None)


def test_nothing_is_left_before_an_open_transaction(state: FakeCluster, connect: Connect) -> None:
    """Readers of committed records get nothing there; what comes next shows that there is nothing."""
    fill(state)
    log(state).append(batch(25, [b"o"] * 4, producer_id=9, attributes=0x10))
    log(state).last_stable_offset = 25
    values, outcome = read(connect(), split(state, to_offset=25, stable_end=25))
    assert (len(values), outcome.counts.compacted, outcome.failure) == (20, 5, None)
    assert state.count(LIST_OFFSETS.key) == 0


def test_remote_storage_may_be_slow(state: FakeCluster, connect: Connect) -> None:
    """Empty answers prove nothing of offsets that are not on the leader's own disk."""

    def remote(answer: Any) -> Any:
        for partition in answer.topics[0].partitions:
            partition.offset = 22
        return answer

    fill(state)
    log(state).high_watermark = 25
    state.faults.append(Fault(LIST_OFFSETS.key, Altered(remote), times=1000))
    _, outcome = read(connect(), split(state))
    assert (outcome.failure, outcome.next_offset) == ("NO_PROGRESS", 20)


_BATCHES = st.lists(
    st.tuples(st.integers(0, 3), st.integers(1, 4), st.sampled_from(["plain", "aborted", "committed", "corrupt"])),
    min_size=1,
    max_size=8,
)
_ACTIONS = st.sampled_from(
    [
        Close(),
        Close(sent=40),
        altered(lambda partition: setattr(partition, "records", b"")),
        altered(lambda partition: setattr(partition, "error_code", 6)),
        altered(lambda partition: setattr(partition, "error_code", 1)),
        altered(lambda partition: setattr(partition, "log_start_offset", 5)),
        altered(lambda partition: setattr(partition, "records", bytes(partition.records or b"")[:-7])),
        Altered(lambda answer: setattr(answer, "responses", ()) or answer),
    ]
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    shape=_BATCHES,
    start=st.integers(0, 12),
    bounds=st.tuples(st.integers(0, 30), st.integers(0, 30)),
    actions=st.lists(_ACTIONS, max_size=5, unique_by=id),  # what is broken twice at one offset stays so
    isolation_level=st.sampled_from(["read_committed", "read_uncommitted"]),
    fetch_bytes=st.sampled_from([100, 250, 1 << 20]),
)
def test_every_offset_is_counted_once(
    state: FakeCluster,
    brokers: dict[int, FakeBroker],
    shape: list[tuple[int, int, str]],
    start: int,
    bounds: tuple[int, int],
    actions: list[Any],
    isolation_level: str,
    fetch_bytes: int,
) -> None:
    """Whatever the log and the faults, the counts add up, and rows are those of the log between start and end."""
    assert brokers
    made, expected, end = FakePartition(1, (1, 2, 3), (1, 2, 3)), set(), 0
    for gap, records, kind in shape:
        base = end + gap
        one = aborted(base, [b"v"] * records, 7) if kind == "aborted" else batch(base, [b"v"] * records)
        if kind == "corrupt":
            one.data = damage(one, len(one.data) - 1)
        elif kind != "aborted" or isolation_level == "read_uncommitted":
            expected |= set(range(base, base + records))
        made.append(one)
        end = one.last_offset + 1
        if kind == "aborted":
            made.append(marker(end, 7))
            end += 1
    made.log_start_offset = min(start, end)
    state.topics["t"].partitions[0] = made
    state.fetches.clear()
    state.faults[:] = [Fault(FETCH.key, action) for action in actions]
    low, high = sorted(min(bound, end) for bound in bounds)
    wanted = split(state, from_offset=low, to_offset=high)
    options = ReadOptions(isolation_level=isolation_level, fetch_bytes=fetch_bytes, fetch_wait_ms=5, patience_ms=20_000)
    deadline = Deadline.after(CLOCK, 5_000)
    with Cluster.connect(impatient(state, retry_backoff_ms=1), CLOCK, Journal(), deadline) as cluster:
        cluster.refresh({"t"}, deadline)
        values, outcome = read(cluster, wanted, options)
    assert outcome.failure is None
    lost = {
        offset for offset in expected if offset < max(made.log_start_offset, 5 if len(values) < len(expected) else 0)
    }
    assert {offset for offset in expected if low <= offset < high} - lost <= set(values) <= expected
