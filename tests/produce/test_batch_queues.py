"""Queues of batches: their order, batches that are sent again, and partitions that are given up."""

from typing import Any

import pytest

from kafka_lagoon.client.failures import Scope, own_failure
from kafka_lagoon.errors import AuthenticationFailed, ConnectionFailed, ConnectionLost, DecodeError, PipelineError
from kafka_lagoon.produce.batch_queues import AFTER_UNWRITTEN, Batch, BatchQueues, Reconciled, Refusal, Written
from kafka_lagoon.protocol.error_codes import LEADER_NOT_AVAILABLE
from kafka_lagoon.protocol.messages.produce import BatchIndexAndErrorMessage, PartitionProduceResponse
from kafka_lagoon.topic_partition import TopicPartition

FIRST, OTHER = TopicPartition("news", 0), TopicPartition("news", 1)
NOT_LEADER, OUT_OF_ORDER, TIMED_OUT, TOO_FEW, UNKNOWN_TOPIC, RECORD_LIST_TOO_LARGE = 6, 45, 7, 19, 3, 18


def _queues(*, is_idempotent: bool = True) -> tuple[BatchQueues, list[Batch]]:
    """Three batches of ten records for one partition, which was written to before, and one for another."""
    queues = BatchQueues(is_idempotent=is_idempotent, timeout_ms=1_000)
    _write_before(queues)
    batches = [Batch(first, 10, b"x" * 100) for first in (0, 10, 20)]
    for batch in batches:
        queues.add(FIRST, batch)
    queues.add(OTHER, Batch(0, 5, b"y" * 100))
    return queues, batches


def _write_before(queues: BatchQueues) -> None:
    """Let the leader confirm a batch of the first partition, and so know the producer."""
    queues.add(FIRST, Batch(0, 0, b"", answer=_said(0)))
    queues.reconcile([FIRST], 0.0)


def _answer(batch: Batch, offset: int, **fields: object) -> None:
    batch.answer = _said(offset, **fields)


def _said(offset: int = -1, **fields: object) -> PartitionProduceResponse:
    given = {"index": 0, "error_code": 0, "base_offset": offset, "record_errors": (), **fields}
    return PartitionProduceResponse(**given)


def _refuse(queues: BatchQueues, batch: Batch, reason: int | PipelineError, now: float = 0.0) -> Reconciled:
    queues.refuse(FIRST, batch, Refusal(1, reason))
    return queues.reconcile([FIRST], now)


def test_batches_are_sent_in_turns() -> None:
    """The first batch of each partition is taken, then the second, up to the limit; without numbers one batch per partition."""
    queues, batches = _queues()
    assert queues.first(1_000) == {FIRST: batches, OTHER: queues.first(1_000)[OTHER]}
    assert [len(some) for some in queues.first(300).values()] == [2, 1]
    assert [len(some) for some in queues.first(10).values()] == [1]
    assert [len(some) for some in _queues(is_idempotent=False)[0].first(1_000).values()] == [1, 1]


def test_a_round_has_few_batches_of_a_partition() -> None:
    """Brokers recognize five batches. Answered ones after an unanswered one are among them: they are in the log, too."""
    queues = BatchQueues(is_idempotent=True, timeout_ms=1_000)
    _write_before(queues)
    batches = [Batch(first, 10, b"x") for first in range(0, 80, 10)]
    for batch in batches:
        queues.add(FIRST, batch)
    assert queues.first(1_000)[FIRST] == batches[:5]
    for batch in batches[1:5]:
        _answer(batch, 100)
    _refuse(queues, batches[0], TIMED_OUT)
    assert queues.first(1_000)[FIRST] == batches[:1]
    _answer(batches[0], 90)
    queues.reconcile([FIRST], 0.0)
    assert queues.first(1_000)[FIRST] == batches[5:]


def test_nothing_follows_the_first_batch_of_a_partition_until_it_is_confirmed() -> None:
    """A broker takes any number of a producer that it does not know, so it could take the second batch without the first."""
    queues = BatchQueues(is_idempotent=True, timeout_ms=1_000)
    batches = [Batch(first, 10, b"x") for first in range(0, 30, 10)]
    for batch in batches:
        queues.add(FIRST, batch)
    assert queues.first(1_000)[FIRST] == batches[:1]
    _refuse(queues, batches[0], NOT_LEADER)
    assert queues.first(1_000)[FIRST] == batches[:1]
    _answer(batches[0], 0)
    queues.reconcile([FIRST], 0.0)
    assert queues.first(1_000)[FIRST] == batches[1:]


def test_what_is_written_is_reported_in_order() -> None:
    """Batches are reported up to the first one without an answer, which is sent next. An unknown offset is None."""
    queues, batches = _queues()
    _answer(batches[0], 100)
    _answer(batches[1], -1)
    reconciled = queues.reconcile([FIRST, OTHER], 0.0)
    assert reconciled.written == [
        Written(partition=FIRST, first=0, count=10, base_offset=100),
        Written(partition=FIRST, first=10, count=10, base_offset=None),
    ]
    assert (reconciled.freed_bytes, reconciled.waiting, reconciled.unwritten) == (200, [], [])
    assert queues.first(1_000)[FIRST] == batches[2:]


def test_a_refused_batch_takes_those_after_it_along() -> None:
    """All are sent again in their order; OUT_OF_ORDER is not final while an earlier batch has not been written."""
    queues, batches = _queues()
    queues.refuse(FIRST, batches[0], Refusal(1, TOO_FEW))
    for batch in batches[1:]:
        queues.refuse(FIRST, batch, Refusal(1, OUT_OF_ORDER))
    reconciled = queues.reconcile([FIRST], 0.0)
    assert (reconciled.waiting, reconciled.stale, reconciled.unwritten) == ([FIRST], [], [])
    assert queues.first(1_000)[FIRST] == batches


def test_an_earlier_batch_whose_answer_is_lost() -> None:
    """The answered batch after it is not sent again, and is not reported before the earlier one."""
    queues, batches = _queues()
    _answer(batches[1], 110)
    reconciled = _refuse(queues, batches[0], TIMED_OUT)
    assert (reconciled.written, reconciled.waiting) == ([], [FIRST])
    assert queues.first(1_000)[FIRST] == [batches[0], batches[2]]
    _answer(batches[0], 100)
    assert [one.first for one in queues.reconcile([FIRST], 0.0).written] == [0, 10]


def test_what_is_written_after_a_batch_that_is_given_up() -> None:
    """The later batch is reported as written; the failure of the earlier one says that it may have been written, too."""
    queues, batches = _queues()
    _answer(batches[1], 110)
    _refuse(queues, batches[0], TIMED_OUT, 0.0)
    reconciled = _refuse(queues, batches[0], TIMED_OUT, 2.0)
    assert [(one.first, one.failure.may_be_done) for one in reconciled.unwritten] == [(0, True), (20, False)]
    assert reconciled.written == [Written(partition=FIRST, first=10, count=10, base_offset=110)]
    assert reconciled.freed_bytes == 300


def test_what_may_be_written_after_a_batch_that_is_given_up() -> None:
    """A later batch whose answer is lost may be in the log although the earlier one is not."""
    queues, batches = _queues()
    queues.refuse(FIRST, batches[0], Refusal(1, RECORD_LIST_TOO_LARGE))
    queues.refuse(FIRST, batches[1], Refusal(1, TIMED_OUT))
    reconciled = queues.reconcile([FIRST], 0.0)
    assert [one.failure.may_be_done for one in reconciled.unwritten] == [False, True, False]


def test_the_first_batch_out_of_order_is_final() -> None:
    """Records before it are missing: another producer wrote, or the log lost records. Nothing after it is written."""
    queues, batches = _queues()
    _answer(batches[0], 100)
    queues.refuse(FIRST, batches[2], Refusal(1, OUT_OF_ORDER))
    reconciled = _refuse(queues, batches[1], OUT_OF_ORDER)
    assert [(one.first, one.count, one.failure.name) for one in reconciled.unwritten] == [
        (10, 10, "OUT_OF_ORDER_SEQUENCE_NUMBER"),
        (20, 10, AFTER_UNWRITTEN),
    ]
    assert queues.failure_of(FIRST) is reconciled.unwritten[0].failure
    assert (queues.failure_of(OTHER), reconciled.freed_bytes) == (None, 300)


@pytest.mark.parametrize(
    ("reason", "is_stale"),
    [
        (NOT_LEADER, True),
        (TOO_FEW, False),
        (ConnectionLost("b:1", "exchange", "closed", in_flight=1), True),
        (ConnectionFailed("b:1", "connect", "refused"), True),
    ],
)
def test_what_is_tried_again(reason: int | PipelineError, is_stale: bool) -> None:
    """Retries end after the timeout. It starts at the first refusal, and again after each batch that is written."""
    queues, batches = _queues()
    for now in (10.0, 10.9):
        reconciled = _refuse(queues, batches[0], reason, now)
        assert (reconciled.waiting, reconciled.stale) == ([FIRST], [FIRST] if is_stale else [])
    _answer(batches[0], 0)
    queues.reconcile([FIRST], 10.9)
    assert _refuse(queues, batches[1], reason, 11.0).waiting == [FIRST]
    reconciled = _refuse(queues, batches[1], reason, 12.0)
    assert [one.failure.attempts for one in reconciled.unwritten] == [2, 1]
    assert reconciled.unwritten[0].failure.elapsed_ms == 1_000


@pytest.mark.parametrize(
    "reason", [10, 29, 47, AuthenticationFailed("b:1", "PLAIN", "no"), DecodeError("ProduceResponse", 9, 4, "short")]
)
def test_what_is_final(reason: int | PipelineError) -> None:
    """Final: too large, no permission, fenced, a wrong password, an answer that cannot be decoded."""
    queues, batches = _queues()
    assert len(_refuse(queues, batches[0], reason).unwritten) == 3


def test_a_topic_that_is_gone() -> None:
    """An unknown topic is tried a few times, because the broker's metadata may be old."""
    queues, batches = _queues()
    rounds = [len(_refuse(queues, batches[0], UNKNOWN_TOPIC).unwritten) for _ in range(4)]
    assert rounds == [0, 0, 0, 3]


def test_a_topic_that_a_restarted_broker_does_not_know_yet() -> None:
    """Rounds before it, in which the broker was away, do not count: it is tried a few times all the same."""
    queues, batches = _queues()
    away = ConnectionFailed("b:1", "connect", "refused")
    reasons = [away, away, NOT_LEADER, NOT_LEADER, UNKNOWN_TOPIC, NOT_LEADER, *[UNKNOWN_TOPIC] * 4]
    rounds = [len(_refuse(queues, batches[0], reason).unwritten) for reason in reasons]
    assert rounds == [*[0] * 9, 3]
    queues, batches = _queues()
    for _ in range(3):
        assert _refuse(queues, batches[0], UNKNOWN_TOPIC).waiting == [FIRST]
        queues.refuse(FIRST, batches[0], Refusal(None, LEADER_NOT_AVAILABLE))
        assert queues.reconcile([FIRST], 0.0).waiting == [FIRST]
    assert len(_refuse(queues, batches[0], UNKNOWN_TOPIC).unwritten) == 3


@pytest.mark.parametrize("reason", [TIMED_OUT, 20, ConnectionLost("b:1", "exchange", "closed", in_flight=1)])
def test_a_batch_without_numbers_that_may_be_written(reason: int | PipelineError) -> None:
    """A batch that may have been written is not sent again, and its failure says so; one that was surely not written is."""
    queues, batches = _queues(is_idempotent=False)
    assert _refuse(queues, batches[0], NOT_LEADER).waiting == [FIRST]
    first, second, third = _refuse(queues, batches[0], reason).unwritten
    assert [one.failure.may_be_done for one in (first, second, third)] == [True, False, False]
    assert str(first.failure.message).endswith("it may have been written all the same")


@pytest.mark.parametrize("is_idempotent", [False, True])
def test_a_leader_that_moved_after_it_had_written(is_idempotent: bool) -> None:
    """An error beside an offset: the leader waited for the replicas when another broker took over, which may have the batch."""
    queues, batches = _queues(is_idempotent=is_idempotent)
    queues.refuse(FIRST, batches[0], Refusal(1, NOT_LEADER, _said(100, error_code=NOT_LEADER)))
    reconciled = queues.reconcile([FIRST], 0.0)
    assert reconciled.waiting == ([FIRST] if is_idempotent else [])
    reconciled = _refuse(queues, batches[0], NOT_LEADER, 2.0) if is_idempotent else reconciled
    first, second, third = reconciled.unwritten
    assert [one.failure.may_be_done for one in (first, second, third)] == [True, False, False]
    assert str(first.failure.message).endswith("it may have been written all the same")


def test_records_that_a_broker_names() -> None:
    """The indexes of refused records are counted from the first record of the partition."""
    queues, batches = _queues()
    _answer(batches[0], 0)
    errors = (BatchIndexAndErrorMessage(batch_index=4, batch_index_error_message="no key"),)
    queues.refuse(FIRST, batches[1], Refusal(1, 87, _said(error_code=87, error_message="bad", record_errors=errors)))
    first, second = queues.reconcile([FIRST], 0.0).unwritten
    assert (first.refused, second.refused, first.failure.message) == ({14: "no key"}, {}, "bad")


def test_a_partition_that_ends() -> None:
    """Waiting batches can still be sent; once one is given up, the batches after it are given up, too."""
    queues, batches = _queues()
    failure = own_failure("Produce", Scope.of_partition(*FIRST), "RECORD_TOO_LARGE")
    queues.end(FIRST, failure)
    assert (queues.failure_of(FIRST), queues.first(1_000)[FIRST]) == (failure, batches)
    given_up = queues.give_up(OTHER, failure)
    assert [(one.partition, one.count) for one in given_up.unwritten] == [(OTHER, 5)]
    assert (given_up.freed_bytes, list(queues.first(1_000))) == (100, [FIRST])


def test_partitions_without_batches_are_not_looked_at() -> None:
    """A task may write to thousands of partitions, of which a round has a few."""
    queues = BatchQueues(is_idempotent=True, timeout_ms=1_000)
    for number in range(100):
        queues.add(partition := TopicPartition("news", number), batch := Batch(0, 1, b"x"))
        _answer(batch, 0)
        queues.reconcile([partition], 0.0)
    queues.add(FIRST, last := Batch(1, 1, b"x"))
    refused = TopicPartition("news", 100)
    queues.add(refused, Batch(0, 1, b"x"))
    queues.give_up(refused, own_failure("Produce", Scope.of_partition(*refused), "GONE"))

    class Unwalked(dict[Any, Any]):
        def items(self) -> Any:
            raise AssertionError("all partitions are looked at")

    queues._queues = Unwalked(queues._queues)
    assert queues.first(1_000) == {FIRST: [last]}
