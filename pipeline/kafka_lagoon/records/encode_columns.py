"""Encodes rows of Arrow columns as batches of message format 2, by a kernel that reads Arrow's buffers and writes bytes.

The same rows, limits and codec always give the same batches, however often they are encoded. Brokers compare the size of a
whole batch, compressed, with the topic's max.message.bytes; so a batch that comes out too large is encoded again as
smaller ones, and a record that is too large alone is an error that names it. None is left out.

Measured on one core, with records of 116 bytes: 45 million a second uncompressed (the tuples of encoding.py: 1.4), see
tests/bench/encode.py.
"""

from collections.abc import Iterator
from contextlib import suppress

import crc32c
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafka_lagoon.errors import RecordTooLarge, RowRefused
from kafka_lagoon.frozen import frozen
from kafka_lagoon.integers import MOST_INT32
from kafka_lagoon.records import encode_layout as layout
from kafka_lagoon.records.compressing import NONE, compress
from kafka_lagoon.records.encode_kernels import encode_records
from kafka_lagoon.records.encoding import (
    BATCH_OVERHEAD,
    NO_PRODUCER,
    NOT_IDEMPOTENT,
    Producer,
    batch_head,
    batch_tail,
    next_sequence,
)

TARGET_BATCH_BYTES = 512 << 10
MAX_BATCH_BYTES = 1_048_588  # max.message.bytes of a topic that does not set it

_BLOCK_BYTES = 4 << 20
_SPARE_BLOCKS = 16
_LARGEST = MOST_INT32  # sizes within a batch are int32

_Numbers = NDArray[np.int64]


@frozen(kw_only=False)
class EncodedBatch:
    """A batch, its sequence number and producer included: rows `first` and the following, `count` in all.

    `first` counts within the rows that were to be encoded. The bytes belong to a pool that gets them back when nothing refers
    to `data` any more.
    """

    first: int
    count: int
    data: bytes | memoryview
    producer: Producer


class RecordColumns:
    """Arrow columns of the same length that hold records: keys, values, headers and timestamps; a missing one is all null.

    Keys, values and the names and values of headers are binary or texts, `headers` a list of structs of `key` and `value`,
    `timestamp_ms` int64 or any timestamp; `length` is needed where there is none of them. Records without a timestamp get
    `default_timestamp_ms`. RowRefused for a header without a name, which no record can carry.
    """

    def __init__(
        self,
        *,
        key: pa.Array | None = None,
        value: pa.Array | None = None,
        headers: pa.Array | None = None,
        timestamp_ms: pa.Array | None = None,
        length: int | None = None,
        default_timestamp_ms: int = -1,
    ) -> None:
        self.state: _Numbers = np.zeros(layout.STATE_SIZE, np.int64)
        self._kept: list[pa.Array] = []  # their buffers are read by address
        given = [one for one in (key, value, headers, timestamp_ms) if one is not None]
        self.length = max(map(len, given), default=0) if length is None else length
        self.state[layout.DEFAULT_TIME] = default_timestamp_ms
        if key is not None:
            self._binary(key, layout.KEY_ENDS, layout.KEY_BITS)
        if value is not None:
            self._binary(value, layout.VALUE_ENDS, layout.VALUE_BITS)
        if timestamp_ms is not None:
            self._times(timestamp_ms)
        if headers is not None:
            self._headers(headers)

    def _binary(self, array: pa.Array, ends: int, bits: int | None) -> None:
        array = _as_binary(array)
        is_wide = pa.types.is_large_binary(array.type)
        validity, offsets, contents = array.buffers()
        self.state[ends] = offsets.address + array.offset * (8 if is_wide else 4) if offsets else 0
        self.state[ends + 1] = is_wide
        self.state[ends + 2] = contents.address if contents else 0
        if bits is not None:
            self._bits(array, validity, bits)
        self._kept.append(array)

    def _bits(self, array: pa.Array, validity: pa.Buffer | None, bits: int) -> None:
        self.state[bits] = validity.address if validity and array.null_count else 0
        self.state[bits + 1] = array.offset

    def _times(self, array: pa.Array) -> None:
        if pa.types.is_timestamp(array.type):  # fractions of a millisecond are cut off, before 1970, too
            # In UTC: Arrow rounds local times, and raises where clocks show one twice. Spark names the zone of its session.
            array = pc.floor_temporal(array.view(pa.timestamp(array.type.unit)), unit="millisecond")
            array = array.cast(pa.timestamp("ms"))
        array = array.cast(pa.int64())
        validity, numbers = array.buffers()
        self.state[layout.TIMES] = numbers.address + 8 * array.offset if numbers else 0
        self._bits(array, validity, layout.TIME_BITS)
        self._kept.append(array)

    def _headers(self, array: pa.Array) -> None:
        is_wide = pa.types.is_large_list(array.type)
        validity, offsets = array.buffers()[:2]
        pairs = array.values
        self.state[layout.HEADER_ENDS] = offsets.address + array.offset * (8 if is_wide else 4) if offsets else 0
        self.state[layout.HEADER_WIDE] = is_wide
        self._bits(array, validity, layout.HEADER_BITS)
        self._kept.append(array)
        names = pairs.field("key")
        if pairs.null_count or names.null_count:
            _refuse_nameless(array)
        self._binary(names, layout.NAME_ENDS, None)
        self._binary(pairs.field("value"), layout.CONTENT_ENDS, layout.CONTENT_BITS)


def _as_binary(array: pa.Array) -> pa.Array:
    """The same bytes with offsets of 32 or 64 bits, which are the forms that the kernel reads."""
    kind = array.type
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return array
    if pa.types.is_string(kind):
        return array.view(pa.binary())
    if pa.types.is_large_string(kind):
        return array.view(pa.large_binary())
    return array.cast(pa.large_binary())


def _refuse_nameless(headers: pa.Array) -> None:
    pairs = pc.list_flatten(headers)  # without those that lie under a null list, which are not read
    names = pc.struct_field(pairs, "key")
    if names.null_count:
        rows = pc.list_parent_indices(headers)
        row = rows[pc.index(pc.is_null(names), True).as_py()].as_py()
        raise RowRefused(row, "it has a header without a name")


class ColumnEncoder:
    """Encodes with one codec and one set of limits; one thread at a time.

    `target_batch_bytes` is where a batch ends before compression; a record that is larger has a batch of its own.
    `max_batch_bytes` is max.message.bytes, which no batch exceeds. `attributes` are bits beside the codec's.
    """

    def __init__(
        self,
        *,
        codec: int = NONE,
        max_batch_bytes: int = MAX_BATCH_BYTES,
        target_batch_bytes: int = TARGET_BATCH_BYTES,
        attributes: int = 0,
    ) -> None:
        self._codec, self._attributes, self._max = codec, attributes, min(max_batch_bytes, _LARGEST)
        target = target_batch_bytes if codec else min(target_batch_bytes, self._max)
        self._limit = max(min(target, _LARGEST) - BATCH_OVERHEAD, 0)
        self._block = _Block(0)

    def encode(
        self, columns: RecordColumns, rows: _Numbers | None = None, producer: Producer = NOT_IDEMPOTENT
    ) -> Iterator[EncodedBatch]:
        """The batches of some rows in their order, all rows if there are no `rows`; sequence numbers count on.

        RecordTooLarge for a record that fits into no batch; the batches before it have been yielded by then.
        """
        state, position = columns.state, 0
        stop = columns.length if rows is None else len(rows)
        rows = None if rows is None else np.ascontiguousarray(rows, np.int64)
        limit = self._limit
        while position < stop:
            # Another encoder, or a caller between two batches, may use the same columns.
            state[layout.ROWS] = 0 if rows is None else rows.ctypes.data
            batch, limit = self._next(columns, position, stop, limit, producer)
            position += batch.count
            producer = _after(producer, batch.count)
            yield batch
        del rows  # the kernel read it by address until here

    def _next(
        self, columns: RecordColumns, position: int, stop: int, limit: int, producer: Producer
    ) -> tuple[EncodedBatch, int]:
        """The batch at a position; and the limit for those after it, which is smaller after one was too large."""
        while True:
            block, after = self._write(columns, position, stop, limit)
            count = after - position
            batch = self._whole(block, columns.state, count, producer)
            if len(batch) <= self._max:
                return EncodedBatch(position, count, batch, producer), limit
            if count == 1:
                raise RecordTooLarge(position, len(batch), self._max)
            limit = int(columns.state[layout.RECORD_BYTES]) // 2

    def _write(self, columns: RecordColumns, position: int, stop: int, limit: int) -> tuple["_Block", int]:
        """Write the records of a batch after room for its header; returns where, and the position after them."""
        block = self._room(BATCH_OVERHEAD + limit)
        out, capacity = block.address + block.filled + BATCH_OVERHEAD, block.left - BATCH_OVERHEAD
        after = encode_records(columns.state.ctypes.data, position, stop, out, limit, capacity)
        if after > position:
            return block, after
        needed = int(columns.state[layout.NEEDED_BYTES])
        if needed + BATCH_OVERHEAD > (_LARGEST if self._codec else self._max):
            raise RecordTooLarge(position, needed + BATCH_OVERHEAD, self._max)
        return self._write(columns, position, stop, needed)

    def _room(self, size: int) -> "_Block":
        """The current block, or a new one if it has not enough room."""
        if self._block.left < size:
            self._block = _Block(size)
        return self._block

    def _whole(self, block: "_Block", state: _Numbers, count: int, producer: Producer) -> bytes | memoryview:
        """Make a batch of the records that were written, with its header: in place, or compressed into other memory."""
        start, size = block.filled + BATCH_OVERHEAD, int(state[layout.RECORD_BYTES])
        times = int(state[layout.FIRST_TIME]), int(state[layout.MAX_TIME])
        tail = batch_tail(self._codec | self._attributes, count, *times, producer)
        if self._codec:
            packed = compress(self._codec, block.view[start : start + size])
            head = batch_head(len(tail) + len(packed), crc32c.crc32c(packed, crc32c.crc32c(tail)))
            return b"".join((head, tail, packed))
        first, tail_at, end = block.filled, start - len(tail), start + size
        block.room[tail_at:start] = tail
        block.room[first:tail_at] = batch_head(end - tail_at, crc32c.crc32c(block.view[tail_at:end]))
        batch = block.view[first:end]
        if len(batch) <= self._max:
            block.filled = end
        return batch


def _after(producer: Producer, count: int) -> Producer:
    if producer.producer_id == NO_PRODUCER:
        return producer
    return producer._replace(sequence=next_sequence(producer.sequence, count))


class _Block:
    """Memory for batches, one after another; it is used again when neither the block nor any batch in it is referred to.

    Fresh memory costs as much as encoding into it.
    """

    def __init__(self, size: int) -> None:
        memory = _memory(size)
        self.address, self.filled, self.room = memory.ctypes.data, 0, memory.data
        self.view = memoryview(pa.foreign_buffer(self.address, len(memory), base=_Lease(memory)))

    @property
    def left(self) -> int:
        """Bytes that are not filled yet."""
        return len(self.view) - self.filled


def _memory(size: int) -> NDArray[np.uint8]:
    """Memory of a block that nothing refers to any more, or new memory."""
    if size <= _BLOCK_BYTES:
        with suppress(IndexError):  # there is none, or another thread was first
            return _spare.pop()
    return np.empty(max(size, _BLOCK_BYTES), np.uint8)


class _Lease:
    """Gives memory back when no view of it is left."""

    def __init__(self, memory: NDArray[np.uint8]) -> None:
        self._memory = memory

    def __del__(self) -> None:
        if len(self._memory) == _BLOCK_BYTES and len(_spare) < _SPARE_BLOCKS:
            _spare.append(self._memory)


_spare: list[NDArray[np.uint8]] = []
