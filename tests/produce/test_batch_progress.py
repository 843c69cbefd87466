"""The progress of a series of batches: kept by a group, also of real brokers, and read back unchanged."""

import json
from dataclasses import replace
from typing import Any

import pytest

from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import BrokerError, ConfigError
from kafka_lagoon.produce import batch_progress
from kafka_lagoon.produce.batch_progress import BatchProgress, _content, _metadata, keep_progress, read_progress
from kafka_lagoon.produce.transactions import Transaction, commit, init_transactions
from kafka_lagoon.protocol.messages.offset_fetch import OFFSET_FETCH
from kafka_lagoon.sandbox.kafka import LocalKafka
from kafka_lagoon.wire.schema import Api
from tests.clock import CLOCK
from tests.fake.cluster import FakeCluster, FakeCommit, FakeGroup
from tests.fake.direct import answered_directly
from tests.integration.producers import create
from tests.produce.test_transactions import connected, soon


def test_what_is_included() -> None:
    """Progress includes its batch and earlier batches of the series, and no batch of another series."""
    progress = BatchProgress(series="a", number=4, topic="t")
    assert [progress.includes("a", number) for number in (3, 4, 5)] == [True, True, False]
    assert not progress.includes("b", 4)


@pytest.mark.parametrize(
    "changed",
    [
        {"series": 1},
        {"groups": 0},
        {"groups": 10**9},
        {"id": None},
        {"implicit": 0},
        {"open": [["a", 1]]},
        {"more": 1},
        {"records": "1"},
        {"format": [2]},
        {"format": 0},
    ],
)
def test_metadata_of_other_writers(changed: dict[str, object]) -> None:
    """Every client that may commit for the group chooses metadata; what is not as we write it is another writer's."""
    unnumbered = {"series": "s", "groups": 1, "id": "t", "timeout_ms": 1, "implicit": False, "open": [["", 1, 0]]}
    ours = {"format": 2, "records": 7, **unnumbered}
    assert _content(json.dumps(ours)) == ours
    assert _content(json.dumps(unnumbered)) == {"format": 1, "records": None, **unnumbered}
    assert [_content(text) for text in (json.dumps(ours | changed), "[" * 5_000, "[]", None)] == [None] * 4


def transactions(count: int) -> tuple[Transaction, ...]:
    """Make transactions of tasks."""
    return tuple(
        Transaction(transactional_id=f"g.{number}", producer_id=number, epoch=1, timeout_ms=5, is_implicit=True)
        for number in range(count)
    )


@pytest.mark.parametrize(("count", "sizes"), [(0, [0]), (1, [1]), (100, [100]), (101, [100, 1]), (250, [100, 100, 50])])
def test_transactions_are_divided_among_groups(monkeypatch: pytest.MonkeyPatch, count: int, sizes: list[int]) -> None:
    """The parts of all groups are the whole. A group may still have a part of an earlier batch, which does not count."""
    progress = BatchProgress(series="s", number=4, topic="t", records=7, open_transactions=transactions(count))
    parts = batch_progress._parts(progress)
    assert [len(part.open_transactions) for part in parts] == sizes
    stored = {"g": parts[0], **{f"g.part-{number}": part for number, part in enumerate(parts) if number}}
    monkeypatch.setattr(batch_progress, "_committed", lambda _, group, *__: [(stored[group], len(sizes))])
    unused: Any = None
    assert read_progress(unused, "g", soon()) == [progress]
    if len(sizes) > 1:
        stored["g.part-1"] = replace(stored["g.part-1"], number=3)
        (kept,) = read_progress(unused, "g", soon())
        assert not set(kept.open_transactions) & set(parts[1].open_transactions)


def test_a_newer_format() -> None:
    """Progress that a newer release wrote is not taken for another writer's: its batch would be written again."""
    with pytest.raises(ConfigError, match=r"newer Kafka Lagoon wrote .*format 3"):
        _content(json.dumps({"format": 3, "series": "s", "unknown": True}))


def test_more_transactions_than_are_read() -> None:
    """They are refused before anything is committed: nobody would recognize the batch as written."""
    transaction = Transaction(transactional_id="t", producer_id=1, epoch=0, timeout_ms=1, is_implicit=False)
    progress = BatchProgress(series="s", number=1, topic="t", open_transactions=(transaction,) * 100_001)
    with answered_directly(FakeCluster()) as (cluster, deadline), pytest.raises(ConfigError, match="100,001 tasks"):
        keep_progress(cluster, transaction, "t", progress, deadline)


def test_batches_of_different_topics() -> None:
    """A group has an offset beside the topic of each batch: the newest one is the progress of the series."""
    state = FakeCluster()
    state.groups["sink"] = FakeGroup(1, {("b", 0): FakeCommit(7), ("a", 0): FakeCommit(9), ("c", 0): FakeCommit(8)})

    def ours(api: Api[Any, Any], answer: Any) -> Any:
        if api is OFFSET_FETCH:
            for group in answer.groups:
                for topic in group.topics:
                    for partition in topic.partitions:
                        number = partition.committed_offset - 1
                        progress = BatchProgress(series="s", number=number, topic=topic.name, records=number * 10)
                        partition.metadata = _metadata(progress, 1)
        return answer

    with answered_directly(state, ours) as (cluster, deadline):
        assert read_progress(cluster, "sink", deadline) == [BatchProgress(series="s", number=8, topic="a", records=80)]


def test_transactions_of_others() -> None:
    """Who may commit for the group, and has no right to any transactional id, cannot let the sink commit a transaction."""
    state = FakeCluster()
    state.groups["sink"] = FakeGroup(1, {("a", 0): FakeCommit(7), ("b", 0): FakeCommit(9)})
    ours, other = (
        Transaction(transactional_id=name, producer_id=5, epoch=0, timeout_ms=1, is_implicit=False)
        for name in ("sink.task-0-0", "payments-7")
    )
    true = BatchProgress(series="s", number=6, topic="a", records=1, open_transactions=(ours,))
    for forged in ((other,), (ours, other), (replace(ours, transactional_id="sinker"),)):
        by_topic = {"a": true, "b": BatchProgress(series="s", number=8, topic="b", records=1, open_transactions=forged)}

        def answered(api: Api[Any, Any], answer: Any, by_topic: dict[str, BatchProgress] = by_topic) -> Any:
            if api is OFFSET_FETCH:
                for group in answer.groups:
                    for topic in group.topics:
                        topic.partitions[0].metadata = _metadata(by_topic[topic.name], 1)
            return answer

        with answered_directly(state, answered) as (cluster, deadline):
            assert read_progress(cluster, "sink", deadline) == [true]


@pytest.mark.kafka
def test_a_transaction_holds_it(kafka: LocalKafka) -> None:
    """The progress counts once the transaction is committed, and a later series replaces an earlier one."""
    topic = f"progress-{CLOCK.now_ms()}"
    create(kafka, topic)
    with connected(kafka, topic) as cluster:
        assert read_progress(cluster, topic, soon()) == []
        for series, number in (("a", 0), ("a", 1), ("b", 0)):
            transaction = init_transactions(cluster, topic, 60_000, soon())
            progress = BatchProgress(series=series, number=number, topic=topic)
            keep_progress(cluster, transaction, topic, progress, soon())
            commit(cluster, transaction, soon())
            init_transactions(cluster, topic, 60_000, soon())  # waits until the commit is in the group's log
            assert read_progress(cluster, topic, soon()) == [progress]


@pytest.mark.kafka
def test_a_pending_transaction_is_waited_for(kafka: LocalKafka) -> None:
    """A reader waits for a pending commit, which may replace the current one; it raises if the commit does not end in time."""
    topic = f"pending-{CLOCK.now_ms()}"
    create(kafka, topic)
    with connected(kafka, topic) as cluster:
        first, second = (BatchProgress(series="a", number=number, topic=topic) for number in range(2))
        for progress in (first, second):
            transaction = init_transactions(cluster, topic, 60_000, soon())
            keep_progress(cluster, transaction, topic, progress, soon())
            if progress is second:
                with pytest.raises(BrokerError, match="UNSTABLE_OFFSET_COMMIT"):
                    read_progress(cluster, topic, Deadline.after(CLOCK, 2_000))  # a busy broker takes its time
            commit(cluster, transaction, soon())
        assert read_progress(cluster, topic, soon()) == [second]


@pytest.mark.kafka
def test_many_transactions_are_kept(kafka: LocalKafka) -> None:
    """The open transactions may need more space than the metadata of one commit."""
    topic = f"many-{CLOCK.now_ms()}"
    create(kafka, topic)
    with connected(kafka, topic) as cluster:
        deciding = init_transactions(cluster, topic, 60_000, soon())
        every = tuple(replace(deciding, transactional_id=f"{topic}.task-{number}-0") for number in range(250))
        progress = BatchProgress(series="query", number=3, topic=topic, open_transactions=every)
        keep_progress(cluster, deciding, topic, progress, soon())
        commit(cluster, deciding, soon())
        init_transactions(cluster, topic, 60_000, soon())
        assert read_progress(cluster, topic, soon()) == [progress]
