"""Decodes a Fetch response to rows, counts and problems, as table `records` and its companions hold them."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.reference.batches import Batch, Record, Refused, header, marker, records, split

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(kw_only=True)
class Answer:
    """The result for the offsets from the first requested one up to `next_offset`."""

    next_offset: int
    to_offset: int
    rows: list[dict[str, Any]] = field(default_factory=list)
    counts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("records", "control", "aborted", "compacted", "corrupt"), 0)
    )
    problems: list[tuple[int, int, str]] = field(default_factory=list)

    def pass_(self, kind: str, to_offset: int) -> None:
        """Count the offsets up to this one."""
        self.counts[kind] += to_offset - self.next_offset
        self.next_offset = to_offset


def decode(
    data: bytes,
    *,
    from_offset: int,
    to_offset: int,
    aborted: Iterable[tuple[int, int]] = (),
    read_committed: bool = True,
    stable_end: int = 2**62,
) -> Answer:
    """Decode batch by batch. Offsets after the last batch are left to the next response."""
    answer = Answer(next_offset=from_offset, to_offset=to_offset)
    batches = _bounded([header(raw) for raw in split(data)], data)
    around = zip([None, *batches], batches, [*batches[1:], None], strict=False)
    open_, to_come = set(), sorted(aborted, key=lambda pair: pair[1])
    for before, batch, following in around:
        if _is_end(answer, before, batch, following, from_offset):
            break
        while batch.is_believed and batch.is_transactional and to_come and to_come[0][1] <= batch.last_offset:
            open_.add(to_come.pop(0)[0])
        is_aborted = batch.producer_id in open_ and batch.is_transactional and not batch.is_control
        is_open = batch.is_transactional and not read_committed and batch.base_offset >= stable_end
        try:
            if is_aborted and batch.is_believed and read_committed:
                _pass(answer, batch, "aborted", batch.last_offset)
            elif batch.is_control and batch.is_believed:
                if marker(batch) == 0:
                    open_.discard(batch.producer_id)
                _pass(answer, batch, "control", batch.last_offset)
            elif batch.magic != 2 or not batch.is_believed or batch.last_offset >= answer.next_offset:
                _add(answer, batch, records(batch), None if is_open else is_aborted)
        except Refused as refused:
            _refuse(answer, batch, following, refused)
            is_wanted = following is None or following.base_offset > from_offset
            may_be_open = open_ or any(first <= batch.last_offset for _, first in to_come)
            if may_be_open and is_wanted and batch.magic not in (0, 1) and (batch.is_control or not batch.is_believed):
                break  # it may have been the marker that ended an aborted transaction
    return answer


def _bounded(batches: list[Batch], data: bytes) -> list[Batch]:
    """Correct false last offsets by the start of the next batch, even if that one is cut off."""
    rest = data[sum(len(batch.raw) for batch in batches) :]
    is_cut = len(rest) > 16 and rest[16] == 2 and int.from_bytes(rest[8:12], "big", signed=True) >= 14
    bases = [batch.base_offset if batch.magic == 2 and batch.is_possible else None for batch in batches[1:]]
    bases.append(int.from_bytes(rest[:8], "big", signed=True) if is_cut else None)
    return [_bounded_by(batch, base) for batch, base in zip(batches, bases, strict=False)]


def _bounded_by(batch: Batch, next_base: int | None) -> Batch:
    """Correct the last offset if it is after the start of the next batch, or too small for the number of records."""
    if batch.magic != 2 or not batch.is_possible or next_base is None or batch.count > next_base - batch.base_offset:
        return batch
    is_too_large = batch.base_offset < next_base <= batch.last_offset
    is_too_small = batch.last_offset + 1 < next_base and batch.count > batch.last_offset - batch.base_offset + 1
    return replace(batch, last_offset=next_base - 1, lies=True) if is_too_large or is_too_small else batch


def _is_end(answer: Answer, before: Batch | None, batch: Batch, following: Batch | None, from_offset: int) -> bool:
    """Return True if reading ends before this batch; a batch beyond the end proves that no offset before it is missing."""
    if batch.magic == 2 and batch.is_possible and batch.base_offset >= answer.to_offset:
        if batch.is_trusted:
            answer.pass_("compacted", answer.to_offset)
        return True
    return following is None and _is_better_asked_for_again(before, batch, from_offset)


def _is_better_asked_for_again(before: Batch | None, batch: Batch, from_offset: int) -> bool:
    """Return True if this is the last of several batches, and only the next batch can show where it ends."""
    if batch.is_trusted or batch.lies or before is None or before.last_offset < from_offset:
        return False
    claimed = batch.last_offset - batch.base_offset + 1
    return batch.base_offset > before.last_offset + 1 or claimed != batch.count


def _pass(answer: Answer, batch: Batch, kind: str, last: int) -> None:
    end = min(last + 1, answer.to_offset)
    if end > answer.next_offset:
        start = answer.next_offset if batch.magic in (0, 1) else max(answer.next_offset, batch.base_offset)
        answer.pass_("compacted", start if start < end else answer.next_offset)
        answer.pass_(kind, end)


def _add(answer: Answer, batch: Batch, decoded: list[Record], is_aborted: bool | None) -> None:
    wanted = [record for record in decoded if answer.next_offset <= record.offset < answer.to_offset]
    last = batch.last_offset if batch.magic == 2 else max(batch.last_offset, decoded[-1].offset)
    _pass(answer, batch, "compacted", last)
    answer.counts["compacted"] -= len(wanted)
    answer.counts["records"] += len(wanted)
    answer.rows += [_row(batch, record, is_aborted) for record in wanted]
    for record in wanted:
        if any(_text(key) is None for key, _ in record.headers):
            answer.problems.append((record.offset, record.offset, "HEADER_KEY_NOT_UTF8"))


def _refuse(answer: Answer, batch: Batch, following: Batch | None, refused: Refused) -> None:
    """Count a refused batch as corrupt, up to the next batch if its own header is not trusted."""
    last = batch.last_offset
    is_doubtful = not batch.is_believed or refused.is_contradiction
    is_bounded = batch.magic not in (0, 1) and is_doubtful and following and following.magic == 2
    if is_bounded and following.base_offset > min(batch.base_offset, answer.next_offset):
        last = following.base_offset - 1
    end = min(last + 1, answer.to_offset)
    if end > answer.next_offset:
        start = batch.base_offset if batch.magic not in (0, 1) else answer.next_offset
        _pass(answer, batch, "corrupt", last)
        answer.problems.append((start, end - 1, refused.reason))


def _row(batch: Batch, record: Record, is_aborted: bool | None) -> dict[str, Any]:
    return {
        "offset": record.offset,
        "timestamp": _timestamp(record.timestamp_ms),
        "timestamp_ms": record.timestamp_ms,
        "timestamp_type": record.timestamp_type,
        "key": record.key,
        "value": record.value,
        "headers": _headers(record),
        "leader_epoch": _unless_none(batch.leader_epoch),
        "producer_id": _unless_none(batch.producer_id),
        "producer_epoch": _unless_none(batch.producer_epoch),
        "is_transactional": batch.is_transactional,
        "is_aborted": is_aborted,
    }


def _unless_none(number: int) -> int | None:
    return None if number == -1 else number


def _timestamp(milliseconds: int) -> datetime | None:
    if milliseconds == -1:
        return None
    try:
        return _EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return None


def _headers(record: Record) -> list[dict[str, Any]]:
    texts = [_text(key) for key, _ in record.headers]
    if None in texts:
        texts = [key.replace(b"\\", b"\\\\").decode("utf-8", "backslashreplace") for key, _ in record.headers]
    return [{"key": text, "value": value} for text, (_, value) in zip(texts, record.headers, strict=True)]


def _text(key: bytes) -> str | None:
    try:
        return key.decode()
    except UnicodeDecodeError:
        return None
