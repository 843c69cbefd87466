r"""Restores the bytes of archived header keys.

A record with a key that is not UTF-8 has all of its keys escaped in table `records` (`escape` in records/buffers.py), and a
row in `record_problems` that says so: only in such records `\xff` is one byte.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from operator import itemgetter

import numpy as np
import pyarrow as pa

_ESCAPE = re.compile(rb"\\(?:\\|x([0-9a-f]{2}))")


def unescaped(batch: pa.RecordBatch, escaped: Sequence[tuple[int, int]]) -> pa.RecordBatch:
    """The records with binary header keys; `escaped` are the ranges of offsets whose keys are escaped, `in_order`."""
    headers = batch.column("headers").combine_chunks() if batch.num_rows == 0 else batch.column("headers")
    structs = headers.values
    keys = structs.field(0).cast(pa.binary())
    rows = _rows_of(batch.column("offset").to_numpy(), escaped)
    if rows:
        keys = _with_unescaped(keys, headers.offsets.to_numpy(), rows)
    fields = [pa.field("key", pa.binary()), pa.field("value", pa.binary())]
    restored = pa.StructArray.from_arrays([keys, structs.field(1)], fields=fields)
    made = pa.ListArray.from_arrays(headers.offsets, restored)
    return batch.set_column(batch.schema.get_field_index("headers"), "headers", made)


def in_order(escaped: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges of offsets (last included) in their order, and those joined that overlap or follow one another."""
    ranges: list[tuple[int, int]] = []
    for first, last in sorted(escaped):
        if ranges and first <= ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], max(last, ranges[-1][1]))
        else:
            ranges.append((first, last))
    return ranges


def _rows_of(offsets: "np.ndarray[tuple[int], np.dtype[np.int64]]", escaped: Sequence[tuple[int, int]]) -> list[int]:
    """Positions of the records with these offsets."""
    rows: list[int] = []
    if len(offsets):
        begin = bisect_left(escaped, int(offsets[0]), key=itemgetter(1))
        end = bisect_right(escaped, int(offsets[-1]), key=itemgetter(0))
        for first, last in escaped[begin:end]:
            low, high = np.searchsorted(offsets, [first, last + 1])
            rows += range(int(low), int(high))
    return rows


def _with_unescaped(
    keys: pa.Array, ends: "np.ndarray[tuple[int], np.dtype[np.int32]]", rows: Sequence[int]
) -> pa.Array:
    """The header keys, those of these rows unescaped; the headers of row n are those from `ends[n]` to `ends[n + 1]`."""
    pieces, done = [], 0
    for row in rows:
        first, last = int(ends[row]), int(ends[row + 1])
        plain = [unescape(key) for key in keys.slice(first, last - first).to_pylist()]
        pieces += [keys.slice(done, first - done), pa.array(plain, pa.binary())]
        done = last
    return pa.concat_arrays([*pieces, keys.slice(done)])


def unescape(key: bytes) -> bytes:
    r"""The bytes that `escape` converted to text."""
    return _ESCAPE.sub(lambda results: bytes.fromhex(results[1].decode()) if results[1] else b"\\", key)
