"""Measures the processor time of the record decoder in every codec, against kafka-python's decoder of the same bytes.

And what it costs a process to begin: with no compiled kernel on the machine, and with one.
"""

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import islice

from kafka.record.memory_records import MemoryRecords

from kafka_lagoon.records.batches import find_batches
from kafka_lagoon.records.codecs import CODEC_NAMES
from kafka_lagoon.records.columns import decode
from kafka_lagoon.records.decoding import DecodeOptions
from tests.bench.measure import Comparison, Findings, Sample, alternate, timed
from tests.bench.record_topics import json_values
from tests.records.examples import Batch, Record

_RECORDS, _A_BATCH, _VALUE_BYTES = 300_000, 1_000, 100
_PEERS_BATCHES = 20
_ROUNDS = 5
_FOUR = frozenset({"offset", "timestamp", "key", "value"})


def run() -> Findings:
    """Compare ours with kafka-python's, with notes about columns, codecs and starts."""
    cases = {name: timed(partial(_decode, b"".join(_batches(codec)), None)) for codec, name in CODEC_NAMES.items()}
    plain = list(_batches(0))
    cases["four columns"] = timed(partial(_decode, b"".join(plain), _FOUR))
    cases["kafka-python"] = timed(partial(_decode_by_kafka_python, b"".join(plain[:_PEERS_BATCHES])))
    samples = alternate(cases, rounds=_ROUNDS)
    peers = [_scaled(one) for one in samples["kafka-python"]]
    what = f"decode {_RECORDS:,} uncompressed records of {_VALUE_BYTES + 16} bytes, all columns"
    return Findings(
        comparisons=[
            Comparison(what=what, ours=samples["none"], peer="kafka-python", theirs=peers, measure="cpu_s"),
        ],
        notes=[_speeds(samples), _starts()],
    )


def _batches(codec: int) -> Iterator[bytes]:
    values = list(islice(json_values(_VALUE_BYTES), _A_BATCH))
    for base_offset in range(0, _RECORDS, _A_BATCH):
        records = tuple(
            Record(delta=n, time_delta=n, key=b"k%015d" % (base_offset + n), value=values[n]) for n in range(_A_BATCH)
        )
        yield Batch(base_offset=base_offset, records=records, codec=codec).write()


def _decode(data: bytes, columns: frozenset[str] | None) -> None:
    decoding = decode(
        find_batches(data),
        from_offset=0,
        to_offset=_RECORDS,
        aborted=[],
        read_committed=True,
        stable_end=_RECORDS,
        options=DecodeOptions(columns=columns),
    )
    assert sum(batch.num_rows for batch in decoding) == _RECORDS


def _decode_by_kafka_python(data: bytes) -> None:
    records, decoded = MemoryRecords(data), 0
    while (batch := records.next_batch()) is not None:
        decoded += sum(1 for record in batch if record.value is not None)
    assert decoded == _PEERS_BATCHES * _A_BATCH


def _scaled(sample: Sample) -> Sample:
    factor = _RECORDS / (_PEERS_BATCHES * _A_BATCH)
    return Sample(wall_s=sample.wall_s * factor, cpu_s=sample.cpu_s * factor)


def _speeds(samples: Mapping[str, list[Sample]]) -> str:
    """Return the best round of each case, in records per second of one core."""
    spelled = {"four columns": "none with offset, time, key and value only"}
    parts = [
        f"{spelled.get(name, name)} {_RECORDS / min(one.cpu_s for one in some) / 1e6:.1f}"
        for name, some in samples.items()
        if name != "kafka-python"
    ]
    return f"Million records a second and core, checksums verified, best of {_ROUNDS}: {', '.join(parts)}."


def _starts() -> str:
    """Return the processor time of a fresh process up to the decoder."""
    with tempfile.TemporaryDirectory(prefix="bench-") as empty:
        cold = _cpu_of_import(NUMBA_CACHE_DIR=empty)
        warm = min(_cpu_of_import(NUMBA_CACHE_DIR=empty) for _ in range(3))
    return f"A process imports the decoder in {cold:.1f} CPU s once on a machine, then in {warm:.1f} CPU s."


def _cpu_of_import(**environ: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-c", "import kafka_lagoon.records.columns"]
    subprocess.run(command, env={**os.environ, **environ}, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
