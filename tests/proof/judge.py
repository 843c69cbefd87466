"""Judges a history: pure, from evidence alone.

lost     a committed record that Kafka still has, and the archive does not
doubled  a record that is there twice, or a slot that was published twice
altered  other bytes than were sent, a record of an aborted transaction, rows out of order, a wrong value in a snapshot
silent   something is missing, and no row and no exit code says so
stuck    the jobs did not end with exit 0 although every fault was over
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise

from tests.proof.alterations import judge_alterations
from tests.proof.evidence import ENDS, Evidence, Partition, Range, Run
from tests.proof.sunk import judge_sunk
from tests.proof.verdict import Finding, Verdict


def judge(evidence: Evidence) -> Verdict:
    """Return everything that is wrong."""
    verdict = Verdict()
    archive = _Archive(evidence)
    checks: tuple[Callable[[], Iterator[Finding]], ...] = (
        archive.doubled,
        archive.altered,
        lambda: archive.missing(verdict),
        archive.untiled,
        archive.unreported,
        archive.falsely_complete,
        archive.returned,
        lambda: _after_restores(evidence),
        lambda: _snapshots(evidence),
        lambda: _quiet_rows(evidence),
        lambda: _restored(evidence),
        lambda: judge_alterations(evidence),
        lambda: judge_sunk(evidence.sunk),
        lambda: _of_the_whole(evidence),
    )
    for check in checks:
        verdict.findings += check()
    return verdict


class _Archive:
    """Compares records_now and record_ranges with what was sent and what Kafka has."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._rows: dict[Partition, set[int]] = defaultdict(set)
        for row in evidence.rows:
            self._rows[row.partition].add(row.offset)
        self._ranges: dict[Partition, list[Range]] = defaultdict(list)
        for span in sorted(evidence.ranges, key=_order):
            self._ranges[span.partition].append(span)
        self._erased: dict[Partition, set[int]] = defaultdict(set)
        for (_, partition), offsets in evidence.erased.items():
            self._erased[partition] |= set(offsets)
        self._latest: dict[tuple[Partition, bytes | None], int] = {}  # offset of the last row of each key
        for row in evidence.rows:
            if row.partition.topic_id in evidence.compacted:
                of_key = row.partition, row.key
                self._latest[of_key] = max(row.offset, self._latest.get(of_key, -1))

    def doubled(self) -> Iterator[Finding]:
        """Records that are there more than once."""
        for (partition, offset), count in Counter((row.partition, row.offset) for row in self._evidence.rows).items():
            if count > 1:
                yield Finding("doubled", count - 1, f"{partition} offset {offset}: {count} rows")

    def altered(self) -> Iterator[Finding]:
        """Rows that are no record that somebody sent and committed."""
        evidence = self._evidence
        for row in evidence.rows:
            if reason := self._fault_of(row.partition, row.offset, row.digest):
                yield Finding("altered", 1, f"{row.partition} offset {row.offset} ({row.ingest_id}): {reason}")
        if not evidence.in_order:
            yield Finding("altered", 1, "rows of a data file are not in the order of their offsets")

    def _fault_of(self, partition: Partition, offset: int, digest: str) -> str | None:
        evidence = self._evidence
        in_log = evidence.in_log.get(partition, {}).get(offset)
        may_be_gone = partition.topic_id in evidence.compacted or partition.topic_id in evidence.deleted
        if in_log is not None:
            return None if in_log == digest else "other bytes than in Kafka's log"
        if not may_be_gone and offset >= evidence.log_starts.get(partition, 0):
            return "Kafka's log has no such record"
        if offset in evidence.aborted.get(partition, {}):
            return "its transaction was aborted"
        sent = evidence.committed.get(partition, {}).get(offset)
        if sent is not None and partition.topic_id not in evidence.unclean:
            return None if sent == digest else "other bytes than were acknowledged"
        return None if digest in evidence.sent.get(partition.topic_id, ()) else "nobody sent it"

    def missing(self, verdict: Verdict) -> Iterator[Finding]:
        """Records that are in no row; those that Kafka has no longer must be counted by a range."""
        evidence = self._evidence
        for partition in {*evidence.committed, *evidence.in_log}:
            rows, in_log = self._rows.get(partition, set()), evidence.in_log.get(partition, {})
            expected = set(in_log)
            if partition.topic_id not in evidence.unclean:
                expected |= set(evidence.committed.get(partition, {}))
            missing = expected - rows - self._erased[partition]
            superseded = {offset for offset in missing if self._is_superseded(partition, offset)}
            if lost := sorted(offset for offset in missing - superseded if offset in in_log):
                yield Finding("lost", len(lost), f"{partition}: {_spans(lost)}")
            gone = sorted(offset for offset in missing if offset in superseded or offset not in in_log)
            yield from self._removed(partition, gone, verdict)

    def _is_superseded(self, partition: Partition, offset: int) -> bool:
        """True if Kafka has a record of a compacted topic, and the archive a later one of its key.

        Replicas are compacted each by itself: one that was down has records that the one that was read had removed before.
        """
        keys = self._evidence.keys.get(partition)
        if keys is None:
            return False
        return offset not in keys or self._latest.get((partition, keys[offset]), -1) > offset

    def _removed(self, partition: Partition, gone: list[int], verdict: Verdict) -> Iterator[Finding]:
        ranges = [one for one in self._ranges.get(partition, []) if one.to_offset > one.from_offset]
        starts = [one.from_offset for one in ranges]
        first = self._evidence.archived_from.get(partition, 0)
        by_range: dict[int, list[int]] = defaultdict(list)
        for offset in gone:
            number = bisect_right(starts, offset) - 1
            is_in = number >= 0 and offset < ranges[number].to_offset
            covering = number if is_in else _BEFORE if offset < first else _covered(number, ranges)
            by_range[covering].append(offset)
        for number, offsets in by_range.items():
            unreported = self._unreported_in(partition, ranges[number] if number >= 0 else None, number, len(offsets))
            verdict.reported += len(offsets) - unreported
            if unreported:
                yield Finding("silent", unreported, f"{partition}: {_spans(offsets)} are gone and not counted")

    def _unreported_in(self, partition: Partition, covering: Range | None, number: int, count: int) -> int:
        """Return how many of so many offsets are missing in a range without being counted."""
        evidence = self._evidence
        if covering:
            compacted = covering.compacted if partition.topic_id in evidence.compacted else 0
            return max(0, count - covering.lost - covering.corrupt - compacted)
        if number == _BEFORE:
            return 0  # gone before the topic was first archived: nobody has promised them
        of_topic = [one for one in evidence.ranges if one.partition.topic_id == partition.topic_id]
        is_ended = any(one.problem in ENDS for one in of_topic)
        # A topic that came and went between two runs leaves nothing to report: falsely_complete finds runs that had to see it.
        was_never_seen = partition.topic_id in evidence.deleted and not of_topic
        return 0 if is_ended or was_never_seen else count

    def untiled(self) -> Iterator[Finding]:
        """Ranges that do not join, do not add up, or count other rows than there are."""
        counted: Counter[tuple[str, Partition]] = Counter()
        for partition, ranges in self._ranges.items():
            for before, after in pairwise(ranges):
                if before.to_offset != after.from_offset:
                    yield Finding("silent", 1, f"{partition}: {before} and {after} do not join")
            for span in ranges:
                parts = span.records + span.others + span.compacted + span.lost + span.corrupt
                if parts != max(0, span.to_offset - span.from_offset):
                    yield Finding("silent", 1, f"{partition}: {span} does not add up")
                counted[span.ingest_id, partition] += span.records
        for at_run in {*counted, *self._evidence.archived}:
            rows = self._evidence.archived.get(at_run, 0)
            if not 0 <= counted[at_run] - rows <= len(self._evidence.erased.get(at_run, ())):
                yield Finding("silent", 1, f"{at_run}: ranges count {counted[at_run]} records, and there are {rows}")

    def unreported(self) -> Iterator[Finding]:
        """Losses in rows that no exit code has reported."""
        losses = {span.ingest_id: span for span in self._evidence.ranges if span.is_loss}
        for ingest_id, span in losses.items():
            if not any(_reports(run, ingest_id) for run in self._evidence.runs):
                yield Finding("silent", 1, f"no run has reported {span}")

    def falsely_complete(self) -> Iterator[Finding]:
        """Runs with exit 0 that have not read what was acknowledged before they started."""
        evidence = self._evidence
        for run in evidence.runs:
            if run.job != "ingest" or run.exit_code != 0 or run.ended_at_ms < evidence.ranges_since_ms:
                continue
            for partition, wanted in run.acknowledged.items():
                if evidence.deleted.get(partition.topic_id, run.ended_at_ms) < run.ended_at_ms:
                    continue
                if partition.topic_id in evidence.unclean:
                    continue
                removed = max(self._erased.get(partition, ()), default=-1) + 1  # by retention, with the ranges
                reached = max((one.to_offset for one in self._known(partition, run)), default=0)
                reached = max(reached, removed)
                if reached < wanted:
                    text = f"exit 0 at {reached} of {partition}, of which {wanted} offsets were acknowledged before"
                    yield Finding("silent", wanted - reached, text)

    def _known(self, partition: Partition, run: Run) -> Iterator[Range]:
        """Return the ranges of a partition until the end of a run: by their times, or by their numbers if clocks have stepped."""
        spans = (span for of_partition in self._ranges.values() for span in of_partition)
        last = max((span.sequence for span in spans if span.ingest_id == run.event.get("ingest_id")), default=None)
        for span in self._ranges.get(partition, []):
            is_earlier = span.planned_at_ms <= run.ended_at_ms
            if self._evidence.has_stepped:
                is_earlier = last is None or span.sequence <= last
            if is_earlier:
                yield span

    def returned(self) -> Iterator[Finding]:
        """Rows that somebody has removed, and that are there again although no RESTORE has brought them back."""
        for row in self._evidence.rows:
            if not self._evidence.rollbacks and row.offset in self._erased.get(row.partition, ()):
                yield Finding("doubled", 1, f"{row.partition} offset {row.offset} was removed, and is archived again")


_BEFORE, _AFTER = -1, -2


def _order(span: Range) -> tuple[int, bool, int]:
    """Order ranges as they were read; an event, which has no length or goes back, comes before the range of its run."""
    return span.sequence, span.to_offset > span.from_offset, span.from_offset


def _covered(number: int, ranges: list[Range]) -> int:
    return _BEFORE if ranges and number < 0 else _AFTER


def _reports(run: Run, ingest_id: str) -> bool:
    """Return True if a run said by its exit code or its lines that records are lost."""
    if f"ingest {ingest_id} died before it could report" in run.output:
        return run.exit_code != 0
    if run.event.get("ingest_id") == ingest_id:
        return run.exit_code != 0
    # Killed between its last line and its event: whoever started it knows that it died, and reads the line.
    return run.exit_code < 0 and not run.event and " lost" in run.output


def _after_restores(evidence: Evidence) -> Iterator[Finding]:
    """Find runs that went on after a RESTORE had taken rows away, and nobody had said how."""
    for rollback in evidence.rollbacks:
        for run in evidence.runs:
            if run.exit_code in (0, 3) and rollback.refuses(run):
                yield Finding("silent", 1, f"an ingest ended with exit {run.exit_code} after {rollback}")


def _snapshots(evidence: Evidence) -> Iterator[Finding]:
    """Compare published snapshots with slots and exit codes."""
    for slot, count in Counter(one.slot for one in evidence.snapshots).items():
        if count > 1:
            yield Finding("doubled", count - 1, f"slot {slot} was published {count} times")
    published = {one.snapshot_id: one for one in evidence.snapshots}
    for run in evidence.runs:
        snapshot = published.get(str(run.event.get("snapshot_id")))
        wanted = {0: "complete", 3: "partial"}.get(run.exit_code)
        if run.job == "snapshot" and wanted and (snapshot is None or snapshot.status != wanted):
            yield Finding("silent", 1, f"a snapshot ended with exit {run.exit_code}, and the table says {snapshot}")


def _quiet_rows(evidence: Evidence) -> Iterator[Finding]:
    """Compare every published snapshot with what never changed: a value is right or null, and null only if it is partial."""
    truth = evidence.quiet
    if truth is None:
        return
    status = {one.snapshot_id: one.status for one in evidence.snapshots}
    for row in evidence.quiet_rows:
        values = (
            (row.log_start_offset, 0),
            (row.high_watermark, truth.high_watermark),
            (row.committed_offset, truth.committed_offset),
            (row.lag, truth.high_watermark - truth.committed_offset),
        )
        if any(value is not None and value != right for value, right in values):
            yield Finding("altered", 1, f"{row}, which is {truth} in truth")
        elif status[row.snapshot_id] == "complete" and any(value is None for value, _ in values):
            yield Finding("silent", 1, f"{row} of a complete snapshot")
    rows = Counter(row.snapshot_id for row in evidence.quiet_rows)
    for snapshot in evidence.snapshots:
        if snapshot.status == "complete" and rows[snapshot.snapshot_id] != truth.partitions:
            text = f"{snapshot} has rows of {rows[snapshot.snapshot_id]} of {truth.partitions} quiet partitions"
            yield Finding("silent", 1, text)


def _restored(evidence: Evidence) -> Iterator[Finding]:
    """Compare what restores have written with the archive, of which a restore has what was there when it began."""
    for partition in evidence.restored:
        archived, written = list(partition.archived), list(partition.written)
        if again := len(written) - len(set(written)):
            yield Finding("doubled", again, f"restored {partition.name}: {again} records are there again")
        elif written != archived[: len(written)]:
            yield Finding(
                "altered", 1, f"restored {partition.name}: other records, or another order, than in the archive"
            )
        if sum(partition.receipts) != len(written):
            missing = abs(sum(partition.receipts) - len(written))
            yield Finding(
                "silent", missing, f"restored {partition.name}: receipts {partition.receipts}, {len(written)} records"
            )


def _of_the_whole(evidence: Evidence) -> Iterator[Finding]:
    for difference in evidence.differences:
        yield Finding("altered", 1, f"the last snapshot: {difference}")
    for where in evidence.secrets:
        yield Finding("secrets", 1, where)
    if not evidence.is_complete:
        yield Finding("stuck", 1, "the jobs did not end with exit 0 after every fault was over")


def _spans(offsets: list[int]) -> str:
    """Make a short text of ascending offsets."""
    spans: list[list[int]] = []
    for offset in offsets:
        if spans and offset == spans[-1][1] + 1:
            spans[-1][1] = offset
        else:
            spans.append([offset, offset])
    shown = ", ".join(str(first) if first == last else f"{first} to {last}" for first, last in spans[:5])
    return f"{len(offsets)} offsets ({shown}{', ...' if len(spans) > 5 else ''})"
