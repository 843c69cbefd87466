"""Reads one split of a partition from its leader, on an executor: Arrow batches, and an outcome at the end.

Each offset from the split's start to where reading stopped is counted, as a record or by the reason why there is none, and no
answer of a broker raises. While one answer is decoded the next one is requested.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import assert_never

import pyarrow as pa

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.fetch.batch_headers import epoch_ranges, first_base, trusted_end
from kafka_lagoon.fetch.cleanup_policy import CleanupPolicies
from kafka_lagoon.fetch.last_batch import is_doubtful, next_base
from kafka_lagoon.fetch.prefetcher import Prefetcher, Reply
from kafka_lagoon.fetch.progress import SplitProgress
from kafka_lagoon.fetch.recovery import CORRUPT_LOG, Decision, ForgetEpoch, Recovery, SkipTo, Stop
from kafka_lagoon.fetch.requests import FetchPosition, isolation_at
from kafka_lagoon.fetch.split import READ_COMMITTED, ReadOptions, Split, SplitOutcome
from kafka_lagoon.fetch.stalls import RUN_DEADLINE_PASSED, Limits, Stalls
from kafka_lagoon.protocol.messages import fetch
from kafka_lagoon.protocol.messages.fetch import PartitionData
from kafka_lagoon.records.batches import Batches, find_batches
from kafka_lagoon.records.columns import HEADER_KEY_NOT_UTF8, Decoding, decode
from kafka_lagoon.records.decoding import Problem
from kafka_lagoon.records.layout import BASE_OFFSET, SIZE

_OVERHEAD = 1 << 16  # of an answer beside its records
_SINGLE_BATCH_BYTES = 1 << 20  # requested where one batch is wanted; a larger batch comes whole
_MAY_BE_TRANSIENT = "CORRUPT_BATCH"  # the batch may have been damaged between the broker's disk and us


class SplitReader:
    """Reads one split; `cluster` must know the leader (`refresh`), and serves one reader at a time.

    A batch that fails its checksum is requested once more. If it is sound then, its rows come after those of the batches
    that follow it. `answer` is an answer at the split's start that the caller has fetched.
    """

    def __init__(
        self,
        cluster: Cluster,
        split: Split,
        options: ReadOptions,
        stalls: Stalls | None = None,
        answer: PartitionData | None = None,
    ) -> None:
        self._split, self._options = split, options
        self._limits = Limits.of(cluster.clock, options, stalls)
        self._largest_bytes = cluster.settings.receive_message_max_bytes - _OVERHEAD
        self._progress = SplitProgress(split)
        self._recovery = Recovery(cluster, split, self._limits)
        self._policies = CleanupPolicies(cluster, self._limits)
        self._prefetcher = Prefetcher(cluster, split, self._limits)
        self._usual_bytes = self._limit_bytes = min(options.fetch_bytes, self._largest_bytes)
        self._looks_past_end = False  # the next request also returns uncommitted records
        self._unreadable_at = -1  # the offset at which the last unreadable answer came
        if answer is not None:
            self._prefetcher.keep(self._position(split.from_offset, split.last_epoch), Reply(partition=answer))

    @property
    def outcome(self) -> SplitOutcome:
        """The outcome up to now, in whole answers."""
        return self._progress.outcome

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The records, in the columns of the decoder; a request that is under way ends with the iterator."""
        try:
            self._follow(self._recovery.refuse_stalled())
            while not self._progress.ended:
                if self._limits.run_is_over():
                    self._progress.fail(RUN_DEADLINE_PASSED, None)
                    break
                position = self._position(self._progress.next_offset, self._progress.last_epoch)
                reply = self._prefetcher.ask(position)
                partition = self._partition_of(reply, position)
                if partition is not None:
                    yield from self._read(partition, may_prefetch=not reply.throttle_ms)
        finally:
            self.close()
        self._policies.explain(self._split.topic, self._progress.outcome.counts)

    def close(self) -> None:
        """End a request that is under way; later calls do nothing."""
        self._prefetcher.stop()

    def _position(self, offset: int, last_epoch: int) -> FetchPosition:
        usual = isolation_at(self._split, offset, self._options.isolation_level)
        return FetchPosition(
            offset=offset,
            last_epoch=last_epoch,
            isolation_level=fetch.READ_UNCOMMITTED if self._looks_past_end else usual,
            limit_bytes=self._limit_bytes,
            wait_ms=self._options.fetch_wait_ms,
        )

    def _follow(self, decision: Decision) -> None:
        """Do what the recovery has decided."""
        match decision:
            case Stop():
                self._progress.fail(decision.name, decision.detail, decision.truncated_to)
            case SkipTo():
                self._lose_before(decision.log_start_offset)
            case ForgetEpoch():
                self._progress.forget_last_epoch()
            case None:
                pass
            case _:
                assert_never(decision)

    def _lose_before(self, log_start_offset: int) -> None:
        if self._progress.lose_before(log_start_offset):
            self._recovery.progressed()

    def _partition_of(self, reply: Reply, position: FetchPosition) -> PartitionData | None:
        """The partition in a reply, or None if the reply has nothing to read."""
        if reply.error is not None:
            self._follow(self._recovery.after_error(reply.error))
        elif reply.code:
            self._follow(self._recovery.after_code(reply.code, reply.partition, position))
        elif reply.partition is None:
            self._follow(self._recovery.after_omission(reply.throttle_ms))
        elif reply.partition.diverging_epoch.end_offset >= 0:
            self._follow(self._recovery.after_divergence(reply.partition.diverging_epoch, position))
        else:
            return reply.partition
        return None

    def _read(self, partition: PartitionData, *, may_prefetch: bool) -> Iterator[pa.RecordBatch]:
        self._lose_before(partition.log_start_offset)
        if self._progress.ended:
            return
        batches = find_batches(partition.records or b"")
        if not self._looks_past_end:
            batches = self._bounded(batches, partition)
        reach = min(trusted_end(batches, partition.high_watermark), self._split.to_offset)
        if self._looks_past_end:
            self._judge_rest(batches, partition)
        elif reach > self._progress.next_offset:
            yield from self._decode(batches, reach, partition, may_prefetch)
        elif batches.next_base is not None and batches.next_base <= self._progress.next_offset:
            self._request_more(batches)
        elif batches.count or batches.broken_at is not None or batches.needed_bytes:
            self._retry_or_stop()
        else:
            self._without_records(partition)

    def _bounded(self, batches: Batches, partition: PartitionData) -> Batches:
        """The batches of an answer, the last one bounded by the next batch in the log, or left out if others can be read."""
        if not is_doubtful(batches, self._split.to_offset, partition.high_watermark, partition.last_stable_offset):
            return batches
        others = batches.without_last()
        if (others.next_offset or 0) > self._progress.next_offset:
            return others
        limit = min(int(batches.table[-1, SIZE]) + _OVERHEAD, self._largest_bytes)
        following = next_base(batches, partition.high_watermark, lambda offset: self._look(offset, limit))
        return batches if following is None else batches.followed_by(following)

    def _look(self, offset: int, limit_bytes: int) -> Batches | None:
        """The batches that the leader has at an offset, committed or not."""
        position = replace(self._position(offset, -1), isolation_level=fetch.READ_UNCOMMITTED, limit_bytes=limit_bytes)
        reply = self._prefetcher.ask(position)
        if reply.error or reply.code or reply.partition is None:
            return None
        return find_batches(reply.partition.records or b"")

    def _decode(
        self, batches: Batches, reach: int, partition: PartitionData, may_prefetch: bool
    ) -> Iterator[pa.RecordBatch]:
        start = self._progress.next_offset
        epochs = epoch_ranges(batches, start, reach)
        last_epoch = epochs[-1].leader_epoch if epochs else self._progress.last_epoch
        self._limit_bytes = self._usual_bytes
        if may_prefetch and reach < self._split.to_offset:
            self._prefetcher.start(self._position(reach, last_epoch))
        decoding = self._decoding(batches, start, reach, partition)
        yield from decoding
        if decoding.next_offset <= start:
            self._retry_or_stop(first_base(batches))
            return
        self._progress.add(decoding.counts, decoding.problems, decoding.next_offset, decoding.leader_epoch)
        broken = [problem for problem in decoding.problems if problem.reason != HEADER_KEY_NOT_UTF8]
        self._progress.add_epochs(epoch_ranges(batches, start, decoding.next_offset, broken))
        self._recovery.progressed()
        for problem in broken:
            if problem.reason == _MAY_BE_TRANSIENT:
                yield from self._read_again(problem)

    def _decoding(self, batches: Batches, from_offset: int, to_offset: int, partition: PartitionData) -> Decoding:
        return decode(
            batches,
            from_offset=from_offset,
            to_offset=to_offset,
            aborted=[(aborted.producer_id, aborted.first_offset) for aborted in partition.aborted_transactions or ()],
            read_committed=self._options.isolation_level == READ_COMMITTED,
            stable_end=self._split.stable_end,
            options=self._options.decoding,
        )

    def _read_again(self, problem: Problem) -> Iterator[pa.RecordBatch]:
        """Request a broken batch once more; if it is sound now, its records replace the problem."""
        first, end = max(problem.base_offset, self._split.from_offset), problem.last_offset + 1
        reply = self._prefetcher.ask(replace(self._position(first, -1), limit_bytes=_SINGLE_BATCH_BYTES))
        if reply.error or reply.code or reply.partition is None or reply.partition.log_start_offset > first:
            return
        batches = find_batches(reply.partition.records or b"")
        if not batches.count or int(batches.table[0, BASE_OFFSET]) > first:
            return  # a leader that cannot tell where the batch ends skips it
        if batches.count == 1 and batches.next_base is None:
            batches = batches.followed_by(end)
        again = self._decoding(batches, first, end, reply.partition)
        arrow_batches = list(again)
        if again.next_offset == end and not again.counts.corrupt:
            self._progress.repair(problem, again.counts)
            yield from arrow_batches

    def _retry_or_stop(self, following: int | None = None) -> None:
        """Request an unreadable answer again, because it may have been damaged on its way; after the second, stop reading.

        A broken batch that begins after the split's end (`following`) belongs to another split, so that the rest is empty.
        """
        if self._unreadable_at != self._progress.next_offset:
            self._unreadable_at = self._progress.next_offset
        elif following is not None and following >= self._split.to_offset:
            self._progress.skip_rest()
        else:
            self._progress.fail(CORRUPT_LOG, f"what the leader has at offset {self._unreadable_at} is not a batch")

    def _request_more(self, batches: Batches) -> None:
        """Request more bytes: the leader takes these batches for those at the offset, but they end before it."""
        limit = min(int(batches.table[:, SIZE].sum()) + self._usual_bytes, self._largest_bytes)
        if limit <= self._limit_bytes:
            self._retry_or_stop()
        self._limit_bytes = max(limit, self._limit_bytes)

    def _without_records(self, partition: PartitionData) -> None:
        if not self._recovery.rest_seems_empty(partition):
            self._wait(partition)
        elif self._position(self._progress.next_offset, -1).isolation_level == fetch.READ_COMMITTED:
            self._looks_past_end = True
        else:
            self._skip_if_local(partition)

    def _judge_rest(self, batches: Batches, partition: PartitionData) -> None:
        """Skip the rest of the split if the first batch after the last stable offset begins after the split."""
        self._looks_past_end = False
        following = first_base(batches)
        if following is None:
            self._skip_if_local(partition)
        elif following >= self._split.to_offset:
            self._progress.skip_rest()
        else:
            self._wait(partition)

    def _skip_if_local(self, partition: PartitionData) -> None:
        """Skip the rest of the split if compaction may have removed the end of a log that is on the leader's own disk."""
        is_compacted = self._policies.may_be_compacted(self._split.topic)
        if is_compacted and self._recovery.is_local(self._progress.next_offset):
            self._progress.skip_rest()
        else:
            self._wait(partition)

    def _wait(self, partition: PartitionData) -> None:
        self._follow(self._recovery.after_empty(partition, self._progress.next_offset))
