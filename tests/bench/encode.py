"""Measures the processor time of the column encoder in every codec, against the tuple encoder and kafka-python's.

The same batches are also compressed by the libraries alone, at other levels and by other libraries.
"""

import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import islice

import numpy as np
import pyarrow as pa
from isal import igzip
from kafka.record.default_records import DefaultRecordBatchBuilder
from zstandard import ZstdCompressor

from kafka_lagoon.produce.column_partitioner import ColumnPartitioner, group_by_partition
from kafka_lagoon.records.compressing import CODECS
from kafka_lagoon.records.encode_columns import ColumnEncoder, RecordColumns
from kafka_lagoon.records.encoding import Record, encode_batch
from tests.bench.measure import Comparison, Findings, Sample, alternate, timed
from tests.bench.record_topics import json_values

_RECORDS, _A_BATCH, _VALUE_BYTES = 300_000, 4_000, 100
_OF_TUPLES, _OF_PEERS = 40_000, 20_000
_ROUNDS = 5
_START_MS = 1_700_000_000_000
_HEADER_BYTES = 61  # of a batch; they are not compressed
_LIBRARIES: Mapping[str, Callable[[bytes], bytes]] = {
    **{f"isal {level}": partial(igzip.compress, compresslevel=level, mtime=0) for level in range(4)},
    **{f"zlib {level}": partial(zlib.compress, level=level) for level in (1, 6)},
    **{f"zstd {level}": ZstdCompressor(level=level).compress for level in (-5, 1, 3)},
}


def run() -> Findings:
    """Compare ours with kafka-python's, with notes about codecs, headers, order of rows and partitions."""
    keys, values = _keys(), list(islice(json_values(_VALUE_BYTES), 1_000))
    key, value = pa.array(keys, pa.binary()), pa.array([values[n % 1_000] for n in range(_RECORDS)], pa.binary())
    times = pa.array(np.arange(_RECORDS) + _START_MS)
    pairs = pa.array([[("trace", b"0123456789abcdef")]] * _RECORDS, _HEADERS)
    plain = RecordColumns(key=key, value=value, timestamp_ms=times)
    headers = RecordColumns(key=key, value=value, timestamp_ms=times, headers=pairs)
    shuffled = np.random.default_rng(1).permutation(_RECORDS)
    cases: dict[str, Callable[[], Sample]] = {
        name: timed(partial(_encode, plain, codec)) for name, codec in CODECS.items()
    }
    cases["a header each"] = timed(partial(_encode, headers, 0))
    cases["rows at random"] = timed(partial(_encode, plain, 0, shuffled))
    cases["12 partitions by key"] = timed(partial(_encode_by_partition, plain))
    cases["tuples"] = timed(partial(_encode_tuples, keys, values))
    cases["kafka-python"] = timed(partial(_encode_by_kafka_python, keys, values))
    bodies = [bytes(batch.data[_HEADER_BYTES:]) for batch in ColumnEncoder(codec=0).encode(plain)]
    alone = {name: partial(_compress, compress, bodies) for name, compress in _LIBRARIES.items()}
    cases |= {name: timed(work) for name, work in alone.items()}
    samples = alternate(cases, rounds=_ROUNDS)
    counts = {"tuples": _OF_TUPLES, "kafka-python": _OF_PEERS}
    scaled = {name: [_scaled(one, counts.get(name, _RECORDS)) for one in some] for name, some in samples.items()}
    what = f"encode {_RECORDS:,} uncompressed records of {_VALUE_BYTES + 16} bytes"
    return Findings(
        comparisons=[
            Comparison(what=what, ours=scaled["none"], peer=peer, theirs=scaled[peer], measure="cpu_s")
            for peer in ("tuples", "kafka-python")
        ],
        notes=[
            _speeds({name: some for name, some in scaled.items() if name not in alone}),
            _of_libraries(samples, {name: work() for name, work in alone.items()}, sum(map(len, bodies))),
        ],
    )


def _compress(compress: Callable[[bytes], bytes], bodies: Sequence[bytes]) -> int:
    return sum(len(compress(body)) for body in bodies)


_HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


def _keys() -> list[bytes]:
    return [b"k%015d" % number for number in range(_RECORDS)]


def _encode(columns: RecordColumns, codec: int, rows: np.ndarray | None = None) -> None:
    batches = ColumnEncoder(codec=codec).encode(columns, rows)
    assert sum(batch.count for batch in batches) == _RECORDS


def _encode_by_partition(columns: RecordColumns) -> None:
    partitioner, encoder = ColumnPartitioner(12, list, 1 << 19), ColumnEncoder()
    groups = group_by_partition(partitioner.choose(columns), 12)
    assert sum(batch.count for _, rows in groups for batch in encoder.encode(columns, rows)) == _RECORDS


def _encode_tuples(keys: list[bytes], values: list[bytes]) -> None:
    for start in range(0, _OF_TUPLES, _A_BATCH):
        rows = range(start, start + _A_BATCH)
        encode_batch([Record(_START_MS + row, keys[row], values[row % 1_000]) for row in rows])


def _encode_by_kafka_python(keys: list[bytes], values: list[bytes]) -> None:
    for start in range(0, _OF_PEERS, _A_BATCH):
        builder = DefaultRecordBatchBuilder(
            magic=2,
            compression_type=0,
            is_transactional=False,
            producer_id=-1,
            producer_epoch=-1,
            base_sequence=-1,
            batch_size=1 << 20,
        )
        for offset, row in enumerate(range(start, start + _A_BATCH)):
            assert builder.append(offset, _START_MS + row, keys[row], values[row % 1_000], [])
        builder.build()


def _scaled(sample: Sample, records: int) -> Sample:
    factor = _RECORDS / records
    return Sample(wall_s=sample.wall_s * factor, cpu_s=sample.cpu_s * factor)


def _speeds(samples: dict[str, list[Sample]]) -> str:
    """Return the best round of each case, in records per second of one core."""
    parts = [f"{name} {_RECORDS / min(one.cpu_s for one in some) / 1e6:.1f}" for name, some in samples.items()]
    return f"Million records encoded a second and core, checksums included, best of {_ROUNDS}: {', '.join(parts)}."


def _of_libraries(samples: Mapping[str, Sequence[Sample]], compressed: Mapping[str, int], size: int) -> str:
    """Return the best round of each library and level, and what is left of a byte."""
    parts = (
        f"{name} {size / min(one.cpu_s for one in samples[name]) / 1e6:.0f} MB, {after / size:.1%}"
        for name, after in compressed.items()
    )
    return f"The libraries alone, MB of these batches compressed a second and core, and what is left of them: {'; '.join(parts)}."
