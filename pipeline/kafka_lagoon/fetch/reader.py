"""A split in, Arrow batches and an outcome out: a partition's offsets read from its leader, on an executor.

Guards one rule: each offset between the split's start and where reading stopped is accounted for, as a record or by the
reason why there is none, and no broker's answer makes it raise. While an answer is decoded the next one is on its way.
"""

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.fetch.ends import is_doubtful, next_base
from kafka_lagoon.fetch.headers import believable, epoch_ranges, first_base
from kafka_lagoon.fetch.prefetcher import Prefetcher, Reply
from kafka_lagoon.fetch.progress import Progress
from kafka_lagoon.fetch.ranges import LOG_TRUNCATED
from kafka_lagoon.fetch.recovery import BATCH_TOO_LARGE, CORRUPT_LOG, Recovery
from kafka_lagoon.fetch.requests import Place
from kafka_lagoon.fetch.split import READ_COMMITTED, Outcome, ReadOptions, Split
from kafka_lagoon.fetch.stalls import RUN_DEADLINE_PASSED, Limits, Stalls
from kafka_lagoon.protocol.messages import fetch
from kafka_lagoon.protocol.messages.fetch import PartitionData
from kafka_lagoon.records.batches import Batches, find_batches
from kafka_lagoon.records.columns import HEADER_KEY_NOT_UTF8, Decoding, decode
from kafka_lagoon.records.decoding import Problem
from kafka_lagoon.records.layout import BASE_OFFSET, SIZE

_ROOM = 1 << 16  # of an answer beside its records
_ONE_BATCH_BYTES = 1 << 20  # asked for when one batch is wanted; a larger one comes whole
_MAY_BE_THE_WAY = "CORRUPT_BATCH"


class SplitReader:
    """Reads one split; `cluster` must know the leader (`refresh`), and serves one reader at a time.

    A batch that fails its checksum is asked for once more, for it may have been the way; if it then is whole, its rows
    come behind those of the batches after it.
    """

    def __init__(self, cluster: Cluster, split: Split, options: ReadOptions, stalls: Stalls | None = None) -> None:
        self._split, self._options = split, options
        self._limits = Limits.of(cluster.clock, options, stalls)
        self._largest = cluster.settings.receive_message_max_bytes - _ROOM
        self._progress = Progress(split)
        self._recovery = Recovery(cluster, split, self._progress, self._limits)
        self._ahead = Prefetcher(cluster, split, self._limits)
        self._usual_limit = self._limit = min(options.fetch_bytes, self._largest)
        self._looks_behind = False  # the next request asks for what readers of committed records are not shown
        self._suspected = -1  # where what came was no batch

    @property
    def outcome(self) -> Outcome:
        """How far the split is read, in whole answers, and what kept the rest from being read."""
        return self._progress.outcome

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The records, in the columns of the decoder; what is under way ends with the iterator."""
        try:
            self._recovery.refuse_stalled()
            while not self._progress.ended:
                if self._limits.run_is_over():
                    self._progress.fail(RUN_DEADLINE_PASSED, None)
                    break
                reply = self._ahead.ask(self._place(self._progress.position, self._progress.last_epoch))
                partition = self._partition_of(reply)
                if partition is not None:
                    yield from self._read(partition, may_ask_ahead=not reply.throttle_ms)
        finally:
            self.close()

    def close(self) -> None:
        """End what is under way; later calls do nothing."""
        self._ahead.stop()

    def _place(self, offset: int, last_epoch: int) -> Place:
        committed = self._options.isolation_level == READ_COMMITTED or offset < self._split.stable_end
        return Place(
            offset=offset,
            last_epoch=last_epoch,
            isolation_level=fetch.READ_COMMITTED if committed and not self._looks_behind else fetch.READ_UNCOMMITTED,
            limit_bytes=self._limit,
            wait_ms=self._options.fetch_wait_ms,
        )

    def _partition_of(self, reply: Reply) -> PartitionData | None:
        """What a reply tells of the partition, or None if that holds nothing to read."""
        if reply.error is not None:
            self._recovery.after_error(reply.error)
        elif reply.code:
            self._recovery.after_code(reply.code, reply.partition)
        elif reply.partition is None:
            self._recovery.after_silence(reply.throttle_ms)
        elif reply.partition.diverging_epoch.end_offset >= 0:
            parted = reply.partition.diverging_epoch
            told = f"leader epoch {parted.epoch} ends at {parted.end_offset} in the leader's log"
            self._progress.fail(LOG_TRUNCATED, told, truncated_to=parted.end_offset)
        else:
            return reply.partition
        return None

    def _read(self, partition: PartitionData, *, may_ask_ahead: bool) -> Iterator[pa.RecordBatch]:
        if self._progress.lose_before(partition.log_start_offset):
            self._recovery.progressed()
        if self._progress.ended:
            return
        batches = find_batches(partition.records or b"")
        if not self._looks_behind:
            batches = self._proven(batches, partition)
        reach = min(believable(batches, partition.high_watermark), self._split.to_offset)
        if self._looks_behind:
            self._look_behind(batches, partition)
        elif reach > self._progress.position:
            yield from self._decode(batches, reach, partition, may_ask_ahead)
        elif batches.next_base is not None and batches.next_base <= self._progress.position:
            self._ask_beyond(batches)
        elif batches.count or batches.broken_at is not None:
            self._suspect()
        elif batches.needed_bytes:
            self._ask_for_more(batches.needed_bytes)
        else:
            self._without_records(partition)

    def _proven(self, batches: Batches, partition: PartitionData) -> Batches:
        """An answer whose last batch ends where it says, or where the log says; without it, if there are others to read."""
        if not is_doubtful(batches, self._split.to_offset, partition.high_watermark, partition.last_stable_offset):
            return batches
        others = batches.without_last()
        if (others.next_offset or 0) > self._progress.position:
            return others
        limit = min(int(batches.table[-1, SIZE]) + _ROOM, self._largest)
        following = next_base(batches, partition.high_watermark, lambda offset: self._look(offset, limit))
        return batches if following is None else batches.followed_by(following)

    def _look(self, offset: int, limit_bytes: int) -> Batches | None:
        """The batches that the leader has at an offset, committed or not."""
        place = replace(self._place(offset, -1), isolation_level=fetch.READ_UNCOMMITTED, limit_bytes=limit_bytes)
        reply = self._ahead.ask(place)
        if reply.error or reply.code or reply.partition is None:
            return None
        return find_batches(reply.partition.records or b"")

    def _decode(
        self, batches: Batches, reach: int, partition: PartitionData, may_ask_ahead: bool
    ) -> Iterator[pa.RecordBatch]:
        start = self._progress.position
        met = epoch_ranges(batches, start, reach)
        last_epoch = met[-1].leader_epoch if met else self._progress.last_epoch
        self._limit = self._usual_limit
        if may_ask_ahead and reach < self._split.to_offset:
            self._ahead.start(self._place(reach, last_epoch))
        decoding = self._decoding(batches, self._progress.position, reach, partition)
        yield from decoding
        if decoding.next_offset <= self._progress.position:
            self._suspect(first_base(batches))
            return
        self._progress.add(decoding.counts, decoding.problems, decoding.next_offset, decoding.leader_epoch)
        broken = [problem for problem in decoding.problems if problem.reason != HEADER_KEY_NOT_UTF8]
        self._progress.meet(epoch_ranges(batches, start, self._progress.position, broken))
        self._recovery.progressed()
        for problem in broken:
            if problem.reason == _MAY_BE_THE_WAY:
                yield from self._ask_again(problem)

    def _decoding(self, batches: Batches, from_offset: int, to_offset: int, partition: PartitionData) -> Decoding:
        return decode(
            batches,
            from_offset=from_offset,
            to_offset=to_offset,
            aborted=[(one.producer_id, one.first_offset) for one in partition.aborted_transactions or ()],
            read_committed=self._options.isolation_level == READ_COMMITTED,
            stable_end=self._split.stable_end,
            options=self._options.decoding,
        )

    def _ask_again(self, problem: Problem) -> Iterator[pa.RecordBatch]:
        """Read a broken batch once more; if it is whole now, its records take the problem's place."""
        first, end = max(problem.base_offset, self._split.from_offset), problem.last_offset + 1
        place = replace(self._place(first, -1), limit_bytes=_ONE_BATCH_BYTES)
        reply = self._ahead.ask(place)
        if reply.error or reply.code or reply.partition is None or reply.partition.log_start_offset > first:
            return
        found = find_batches(reply.partition.records or b"")
        if not found.count or int(found.table[0, BASE_OFFSET]) > first:
            return  # a leader that cannot tell where the batch ends passes over it
        if found.count == 1 and found.next_base is None:
            found = found.followed_by(end)
        again = self._decoding(found, first, end, reply.partition)
        arrow_batches = list(again)
        if again.next_offset == end and not again.counts.corrupt:
            self._progress.repair(problem, again.counts)
            yield from arrow_batches

    def _suspect(self, following: int | None = None) -> None:
        """What came is no batch: once it may have been the way. A broken one behind the end is for another split."""
        if self._suspected != self._progress.position:
            self._suspected = self._progress.position
        elif following is not None and following >= self._split.to_offset:
            self._progress.skip_void()
        else:
            self._progress.fail(CORRUPT_LOG, f"what the leader has at offset {self._suspected} is no batch")

    def _ask_for_more(self, needed_bytes: int) -> None:
        """The first batch was cut off, as brokers before Fetch v3 do."""
        if needed_bytes > self._largest:
            told = f"the batch at offset {self._progress.position} has {needed_bytes} bytes"
            self._progress.fail(BATCH_TOO_LARGE, f"{told}; see receive_message_max_bytes")
        elif needed_bytes <= self._limit:
            self._suspect()
        else:
            self._limit = needed_bytes

    def _ask_beyond(self, batches: Batches) -> None:
        """A batch came that ended before, and says otherwise to the leader too: what follows it fits into a larger answer."""
        limit = min(int(batches.table[:, SIZE].sum()) + self._usual_limit, self._largest)
        if limit <= self._limit:
            self._suspect()
        self._limit = max(limit, self._limit)

    def _without_records(self, partition: PartitionData) -> None:
        if not self._recovery.seems_void(partition):
            self._recovery.after_empty(partition)
        elif self._place(self._progress.position, -1).isolation_level == fetch.READ_COMMITTED:
            self._looks_behind = True
        else:
            self._void_if_local(partition)

    def _look_behind(self, batches: Batches, partition: PartitionData) -> None:
        """See what comes after the last stable offset: if that is the next there is, nothing is before it."""
        self._looks_behind = False
        following = first_base(batches)
        if following is None:
            self._void_if_local(partition)
        elif following >= self._split.to_offset:
            self._progress.skip_void()
        else:
            self._recovery.after_empty(partition)

    def _void_if_local(self, partition: PartitionData) -> None:
        if self._recovery.is_local():
            self._progress.skip_void()
        else:
            self._recovery.after_empty(partition)
