"""Responses are requested one ahead, from the leader or from the replica that it prefers."""

import threading

from kafka_lagoon.fetch.prefetcher import Prefetcher
from kafka_lagoon.fetch.requests import FetchPosition
from kafka_lagoon.fetch.split import ReadOptions
from kafka_lagoon.fetch.stalls import Limits
from kafka_lagoon.protocol.error_codes import LEADER_NOT_AVAILABLE, UNKNOWN_TOPIC_ID
from kafka_lagoon.protocol.messages.fetch import FETCH
from tests.clock import CLOCK
from tests.fake.cluster import FakeCluster
from tests.fetch.reading import Connect, fill, log, split


def prefetcher(state: FakeCluster, connect: Connect) -> Prefetcher:
    cluster = connect()
    return Prefetcher(cluster, split(state), Limits.of(CLOCK, ReadOptions(stall_timeout_ms=1_500)))


def position(offset: int) -> FetchPosition:
    return FetchPosition(offset=offset, last_epoch=-1, isolation_level=1, limit_bytes=150, wait_ms=10)


def offsets(state: FakeCluster) -> list[int]:
    """Return the requested offsets."""
    return [request.topics[0].partitions[0].fetch_offset for request in state.fetches]


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("fetch")]


def test_an_answer_that_was_requested_ahead(state: FakeCluster, connect: Connect) -> None:
    """A position is requested once; after a request for another position its response can still be taken."""
    fill(state)
    ahead = prefetcher(state, connect)
    ahead.start(position(4))
    assert ahead.ask(position(8)).partition is not None
    assert ahead.ask(position(4)).partition is not None
    assert sorted(offsets(state)) == [4, 8]
    ahead.stop()
    ahead.stop()
    assert threads() == []


def test_without_a_leader_nobody_is_asked(state: FakeCluster, connect: Connect) -> None:
    """The response has the error code that a broker would return."""
    fill(state)
    log(state).leader_id = -1
    assert prefetcher(state, connect).ask(position(0)).code == LEADER_NOT_AVAILABLE
    assert state.count(FETCH.key) == 0


def test_a_re_created_topic_is_not_asked_for(state: FakeCluster, connect: Connect) -> None:
    """A request by name would read another topic."""
    fill(state)
    cluster, planned = connect(), split(state, topic_id="AAAAAAAAAAAAAAAAAAAAmQ")
    reply = Prefetcher(cluster, planned, Limits.of(CLOCK, ReadOptions())).ask(position(0))
    assert (reply.code, state.count(FETCH.key)) == (UNKNOWN_TOPIC_ID, 0)
