"""Hashes records in Arrow columns, 128 bits each, and makes digests of sequences of records.

Equal records have equal hashes, on every machine and in every version (digest_kernel.py says what is hashed). They find what
is missing, altered or damaged; somebody who chooses the records can make two that have the same hash.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafka_lagoon.frozen import frozen
from kafka_lagoon.records import layout
from kafka_lagoon.records.kernels import fold_hashes, hash_records

Hashes = NDArray[np.uint64]  # two words for each record: an array of n times 2

HASHED: Mapping[str, int] = {
    "timestamp_ms": layout.HASH_TIMESTAMP,
    "key": layout.HASH_KEY,
    "value": layout.HASH_VALUE,
    "headers": layout.HASH_HEADERS,
}
ALL_FIELDS = frozenset(HASHED)
_DIGITS = 16


def record_hashes(records: pa.RecordBatch | pa.Table, fields: frozenset[str] = ALL_FIELDS) -> Hashes:
    """The hash of each record over these fields, which are columns of the decoder and of table `records`.

    Null and empty keys, values and header values differ; the order of headers counts. A null list of headers is an empty
    one, and a null time is -1, as in Kafka. Hashes over different fields have nothing in common.
    """
    if isinstance(records, pa.Table):
        parts = [record_hashes(batch, fields) for batch in records.to_batches()]
        return np.concatenate([_no_hashes(), *parts])
    hashes = np.empty((records.num_rows, 2), np.uint64)
    state = np.zeros(layout.HASH_STATE_SIZE, np.int64)
    state[layout.HASH_ROWS], state[layout.HASH_TARGET] = records.num_rows, hashes.ctypes.data
    state[layout.HASH_WHAT] = sum(HASHED[name] for name in fields)
    used = [_put_field(state, name, records.column(name)) for name in sorted(fields)]
    hash_records(state.ctypes.data)
    del used  # the arrays that the kernel read
    return hashes


def _no_hashes() -> Hashes:
    return np.empty((0, 2), np.uint64)


def _put_field(state: NDArray[np.int64], name: str, column: pa.Array) -> list[Any]:
    """Tell the kernel where a column is; returns what must be kept until it has read it."""
    if name == "timestamp_ms":
        times = column.fill_null(-1).cast(pa.int64()).to_numpy(zero_copy_only=False)
        state[layout.HASH_TIMES] = times.ctypes.data
        return [times]
    if name != "headers":
        return [_put_bytes(state, layout.HASH_KEYS if name == "key" else layout.HASH_VALUES, column)]
    pairs = column.values
    keys, values = (pc.struct_field(pairs, [number]) for number in (0, 1))
    return [
        _put(state, layout.HASH_LISTS, column),
        _put_bytes(state, layout.HASH_HEADER_KEYS, keys),
        _put_bytes(state, layout.HASH_HEADER_VALUES, values),
    ]


def _put_bytes(state: NDArray[np.int64], slot: int, column: pa.Array) -> pa.Array:
    """A column of bytes or text; forms without offsets (views, dictionaries) are converted."""
    if column.type not in {pa.binary(), pa.large_binary(), pa.string(), pa.large_string()}:
        column = column.cast(pa.large_binary())
    contents = column.buffers()[2]
    state[slot + layout.HASH_BYTES] = contents.address if contents else 0
    return _put(state, slot, column)


def _put(state: NDArray[np.int64], slot: int, column: pa.Array) -> pa.Array:
    """The offsets and validity bits of a column of bytes or lists."""
    width = 8 if column.type in {pa.large_binary(), pa.large_string()} or pa.types.is_large_list(column.type) else 4
    bits, ends = column.buffers()[:2]
    if ends is None or not len(column):  # an array without items may have no offsets
        return column
    state[slot + layout.HASH_WIDTH] = width
    state[slot + layout.HASH_ENDS] = ends.address + column.offset * width
    state[slot + layout.HASH_BITS] = bits.address if bits else 0
    state[slot + layout.HASH_FIRST_BIT] = column.offset
    return column


@frozen(kw_only=False)
class SequenceDigest:
    """A digest of a sequence of hashes: their number, a digest that depends on their order, and one that does not.

    Digests of parts are added to the digest of the whole, so that parts can be read by several tasks and in several runs:
    `SequenceDigest().then(a).then(b) == SequenceDigest().then(a) + SequenceDigest().then(b)`.
    """

    records: int = 0
    ordered: tuple[int, int] = (0, 0)
    total: tuple[int, int] = (0, 0)

    def then(self, hashes: Hashes) -> "SequenceDigest":
        """The digest of this sequence followed by these records."""
        hashes = np.ascontiguousarray(hashes)
        words = np.array([*self.ordered, *self.total], np.uint64)
        fold_hashes(words.ctypes.data, hashes.ctypes.data, len(hashes))
        ordered, total = words[:2].tolist(), words[2:].tolist()
        return SequenceDigest(self.records + len(hashes), _pair(ordered), _pair(total))

    def __add__(self, after: "SequenceDigest") -> "SequenceDigest":
        """The digest of this sequence followed by another one."""
        ordered = [
            (ours * pow(factor, after.records, layout.DIGEST_PRIME) + theirs) % layout.DIGEST_PRIME
            for ours, theirs, factor in zip(self.ordered, after.ordered, layout.DIGEST_FACTORS, strict=True)
        ]
        return SequenceDigest(self.records + after.records, _pair(ordered), _sum(self.total, after.total))

    def has_same_records(self, other: "SequenceDigest") -> bool:
        """True if both have the same records, in whatever order."""
        return self.records == other.records and self.total == other.total

    def __str__(self) -> str:
        """64 hexadecimal digits: the ordered digest and the one without order. The number of records is not in them."""
        return "".join(f"{word:0{_DIGITS}x}" for word in (*self.ordered, *self.total))

    @classmethod
    def parse(cls, records: int, text: str) -> "SequenceDigest":
        """The digest of so many records, of its text."""
        words = [int(text[at : at + _DIGITS], 16) for at in range(0, 4 * _DIGITS, _DIGITS)]
        return cls(records, _pair(words[:2]), _pair(words[2:]))


def _pair(words: list[int]) -> tuple[int, int]:
    return words[0], words[1]


def _sum(ours: tuple[int, int], theirs: tuple[int, int]) -> tuple[int, int]:
    return _pair([(word + added) & ((1 << 64) - 1) for word, added in zip(ours, theirs, strict=True)])
