"""Chooses the Parquet codec of keys, values and headers of records, by how well a sample of a file's first records compresses.

Nanoseconds a value and what is left of it, one core, by share of hexadecimal noise in JSON:

    bytes  noise   zstd-fast      snappy         zstd           lz4
      100    0 %   196  18 %      147  24 %      239  15 %      169  26 %
      100   40 %   182  49 %      219  53 %      244  30 %      188  54 %
      100   80 %   136  76 %      263  73 %      259  39 %      161  76 %
    1,000    0 % 1,695   9 %    1,006  16 %    1,631   9 %    1,154  19 %
    1,000   40 % 1,696  40 %    1,707  44 %    2,090  25 %    1,628  45 %
    1,000   80 % 1,382  68 %    2,532  69 %    2,353  36 %    1,723  71 %

So snappy is quicker where it finds much, zstd-fast where it finds less, from 30 bytes to 1,000, and their sizes hardly differ;
zstd is the densest. Random letters, as of base64, only zstd shrinks (76 %). What not even it makes smaller is left alone.
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
# Other columns are packed already.
COMPRESSED = ("key", "value", "headers.list.element.key", "headers.list.element.value")

_SNAPPY, _ZSTD = pa.Codec("snappy"), pa.Codec("zstd", 1)
_SNAPPY_IS_QUICKER, _WORTH_IT = 0.45, 0.9  # compressed size of a sample divided by its size
_PLACES, _SAMPLE_BYTES = 4, 64 << 10  # of a row group; snappy also looks at 64 KiB at a time


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
    """Values from several places of a column as Parquet stores them, each after its length."""
    at_once = max(1, _SAMPLE_BYTES * len(column) // (_PLACES * max(1, column.nbytes)))
    rows = min(at_once, -(-len(column) // _PLACES))  # no value twice, because repetition would compress
    starts = sorted({place * len(column) // _PLACES for place in range(_PLACES)})
    short = (pc.binary_slice(column.slice(start, rows), 0, _SAMPLE_BYTES // _PLACES) for start in starts)
    return b"".join(_plain(values.to_pylist()) for values in short)


def _plain(values: Sequence[bytes | None]) -> bytes:
    return b"".join(len(value).to_bytes(4, "little") + value for value in values if value is not None)
