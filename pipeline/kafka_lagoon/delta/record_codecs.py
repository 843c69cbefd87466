"""Chooses the Parquet codec of keys, values and headers of records, by how well a sample of a file's first records compresses.

Processor time decides between the quick codecs, because their sizes differ little. Nanoseconds and bytes a value of 1,000 bytes
(of 100), one core: JSON of few words, zstd-fast 2,150 and 190 (148 and 38), snappy 1,020 and 260 (133 and 36), none 700 and
1,000 (70 and 104); three fifths of it hexadecimal noise, zstd-fast 1,420 and 530 (146 and 62), snappy 2,040 and 570 (256 and
64). So snappy is quicker where it finds much, zstd-fast where it finds little, at every size from 30 bytes on; they change
places where snappy leaves about half. zstd at level 1 is the densest: 2,140 and 170 (188 and 20), 2,110 and 300 (240 and
34); it alone shrinks random letters, as of base64, at 1,330 and 760 (131 and 78). What not even it makes smaller is left
alone. lz4 is never the best.
"""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

Codec = tuple[str, int | None]  # Parquet's name and level

AUTO = "auto"
CODECS: dict[str, Codec] = {
    "zstd-fast": ("zstd", -5),
    "zstd": ("zstd", 1),
    "snappy": ("snappy", None),
    "lz4": ("lz4", None),
    "none": ("none", None),
}
COMPRESSED = (
    "key",
    "value",
    "headers.list.element.key",
    "headers.list.element.value",
)  # other columns are packed already

_SNAPPY, _ZSTD = pa.Codec("snappy"), pa.Codec("zstd", 1)
_SNAPPY_IS_QUICKER, _WORTH_IT = 0.5, 0.9  # share of its bytes that is left of a sample
_PLACES, _SAMPLE_BYTES = 4, 64 << 10  # of a row group; snappy, too, looks at 64 KiB at a time


def codecs_of(setting: str, records: pa.Table) -> dict[str, Codec]:
    """The codec of each column that is compressed, for a file that begins with these records."""
    if setting != AUTO:
        return dict.fromkeys(COMPRESSED, CODECS[setting])
    sampled = {name: _chosen(records.column(name)) for name in COMPRESSED if name in records.schema.names}
    return dict.fromkeys(COMPRESSED, CODECS["zstd-fast"]) | sampled


def _chosen(column: pa.ChunkedArray) -> Codec:
    sample = _sample(column)
    left = _left_by(_SNAPPY, sample)
    if left <= _WORTH_IT:
        return CODECS["snappy" if left <= _SNAPPY_IS_QUICKER else "zstd-fast"]
    return CODECS["zstd" if _left_by(_ZSTD, sample) <= _WORTH_IT else "none"]


def _left_by(codec: pa.Codec, sample: bytes) -> float:
    return len(codec.compress(sample)) / max(1, len(sample))


def _sample(column: pa.ChunkedArray) -> bytes:
    """Values from some places as Parquet has them, each after its length."""
    at_once = max(1, _SAMPLE_BYTES * len(column) // (_PLACES * max(1, column.nbytes)))
    rows = min(at_once, -(-len(column) // _PLACES))  # no value twice: it would seem to shrink
    starts = sorted({place * len(column) // _PLACES for place in range(_PLACES)})
    short = (pc.binary_slice(column.slice(start, rows), 0, _SAMPLE_BYTES // _PLACES) for start in starts)
    return b"".join(_plain(values.to_pylist()) for values in short)


def _plain(values: Sequence[bytes | None]) -> bytes:
    return b"".join(len(value).to_bytes(4, "little") + value for value in values if value is not None)
