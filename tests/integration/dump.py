"""Reads batches, records and aborted transactions of segment files as Kafka's DumpLogSegments prints them.

What is compared is Kafka's own reading of the very bytes that we read. Keys and payloads are printed as
hexadecimal digits, by a decoder that we give to the tool. It cannot show:

- values of headers, and where in `a,b` one header key ends and the next begins: it joins them by commas;
- keys of records without a payload in 2.8, which prints neither: `key` is UNPRINTED then;
- timestamps of magic 0, where it says that there is no type and prints -1;
- attributes of the messages inside a compressed message set of magic 0 and 1: only those of the outer message.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from kafka_lagoon.jars.locked_jars import jar_paths
from kafka_lagoon.sandbox.tools import run_tool
from tests.java_source import compile_java

UNPRINTED = b"(not printed)"
TIMESTAMP_TYPES = {"CreateTime": 0, "LogAppendTime": 1, "NoTimestampType": -1}

_SOURCE = Path(__file__).with_name("HexDecoder.java")
_OLD_TOOL, _TOOL = "kafka.tools.DumpLogSegments", "org.apache.kafka.tools.DumpLogSegments"
_ENTRIES = re.compile(r"^(?=Dumping |version: |baseOffset: |offset: |\| offset: |Found )", re.MULTILINE)
_TIMESTAMP = re.compile(r"(CreateTime|LogAppendTime|NoTimestampType): (-?\d+)")
_NUMBERS = re.compile(r"(\w+): (-?\d+|true|false)\b")
_HEADER_KEYS = re.compile(r" headerKeys: \[(.*)\](?= endTxnMarker| key: | payload: |\s*\Z)", re.DOTALL)
_BYTES = re.compile(r" (key|payload): ([0-9a-f]*)(?= payload:|\s*\Z)")


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpedRecord:
    """A record of a batch of data, or a marker's; `header_keys` are None in magic 0 and 1, which have none."""

    offset: int
    timestamp_type: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    sequence: int
    header_keys: str | None
    marker: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpedBatch:
    """A batch, or a message of magic 0 or 1 that stands alone or holds others."""

    magic: int
    codec: str
    base_offset: int
    last_offset: int
    count: int
    base_sequence: int
    producer_id: int
    producer_epoch: int
    leader_epoch: int
    is_transactional: bool
    is_control: bool
    is_valid: bool
    size: int
    records: tuple[DumpedRecord, ...]

    @property
    def marker(self) -> str | None:
        """ABORT or COMMIT in batches that end a transaction."""
        return self.records[0].marker if self.records else None


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpedSegment:
    """The content of a segment, or of the index of aborted transactions beside it."""

    batches: tuple[DumpedBatch, ...]
    aborted: tuple[tuple[int, int], ...]  # producer id, first offset


def dump(version: str, files: Sequence[Path], timeout_s: float = 60) -> Mapping[Path, DumpedSegment]:
    """Return the output of that release's tool for files that end in .log or .txnindex, all in one call."""
    with TemporaryDirectory() as classes:
        jars = jar_paths(f"kafka-{version}")
        Path(classes, f"{_SOURCE.stem}.class").write_bytes(_decoder(version))
        printed = run_tool(
            [Path(classes), *jars],
            _TOOL if version.startswith("4.") else _OLD_TOOL,
            *("--deep-iteration", "--print-data-log", "--files", ",".join(map(str, files))),
            *("--key-decoder-class", "HexDecoder", "--value-decoder-class", "HexDecoder"),
            timeout_s=timeout_s,
        )
    return dict(_segments(printed))


@cache
def _decoder(version: str) -> bytes:
    """Compile the decoder, once for all calls because that takes a JVM.

    2.8 has the interface in another package, and passes settings to the constructor.
    """
    source = _SOURCE.read_text()
    if version.startswith("2."):
        source = source.replace("org.apache.kafka.tools.api.", "kafka.serializer.")
        source = source.replace("HexDecoder()", "HexDecoder(kafka.utils.VerifiableProperties none)")
    with TemporaryDirectory() as folder:
        Path(folder, _SOURCE.name).write_text(source)
        compile_java(Path(folder, _SOURCE.name), Path(folder), jar_paths(f"kafka-{version}"))
        return Path(folder, f"{_SOURCE.stem}.class").read_bytes()


def _segments(printed: str) -> Iterator[tuple[Path, DumpedSegment]]:
    """Split the output into segments. Entries are found by their beginnings, because header keys may have line ends."""
    entries = [entry for entry in _ENTRIES.split(printed) if entry]
    starts = [index for index, entry in enumerate(entries) if entry.startswith("Dumping ")]
    for start, end in pairwise([*starts, len(entries)]):
        name = entries[start].splitlines()[0].removeprefix("Dumping ")
        inside = entries[start + 1 : end]
        assert not any(entry.startswith("Found ") for entry in inside), f"{name} does not end with a batch"
        aborted = tuple(_aborted(entry) for entry in inside if entry.startswith("version: "))
        batches = tuple(_batches([entry for entry in inside if not entry.startswith("version: ")]))
        yield Path(name), DumpedSegment(batches=batches, aborted=aborted)


def _batches(entries: Sequence[str]) -> Iterator[DumpedBatch]:
    starts = [index for index, entry in enumerate(entries) if not entry.startswith("| ")]
    for start, end in pairwise([*starts, len(entries)]):
        records = tuple(map(_record, entries[start + 1 : end]))
        yield _batch(entries[start], records)


def _batch(entry: str, records: tuple[DumpedRecord, ...]) -> DumpedBatch:
    numbers = dict(_NUMBERS.findall(entry))
    (codec,) = re.findall(r"compresscodec: (\w+)", entry)
    last_offset = int(numbers["lastOffset"] if "lastOffset" in numbers else numbers["offset"])
    return DumpedBatch(
        magic=int(numbers["magic"]),
        codec=codec.lower(),
        base_offset=int(numbers.get("baseOffset", records[0].offset if records else last_offset)),
        last_offset=last_offset,
        count=int(numbers.get("count", len(records))),
        base_sequence=int(numbers.get("baseSequence", -1)),
        producer_id=int(numbers.get("producerId", -1)),
        producer_epoch=int(numbers.get("producerEpoch", -1)),
        leader_epoch=int(numbers.get("partitionLeaderEpoch", -1)),
        is_transactional=numbers.get("isTransactional") == "true",
        is_control=numbers.get("isControl") == "true",
        is_valid=numbers["isvalid"] == "true",
        size=int(numbers["size"]),
        records=records,
    )


def _record(entry: str) -> DumpedRecord:
    keys = _HEADER_KEYS.search(entry)
    plain = entry[: keys.start()] + entry[keys.end() :] if keys else entry
    numbers, printed = dict(_NUMBERS.findall(plain)), dict(_BYTES.findall(plain))
    timestamp = _TIMESTAMP.search(plain)
    marker = re.search(r" endTxnMarker: (\w+)", plain)
    assert timestamp is not None, entry
    return DumpedRecord(
        offset=int(numbers["offset"]),
        timestamp_type=TIMESTAMP_TYPES[timestamp[1]],
        timestamp_ms=int(timestamp[2]),
        key=_bytes(int(numbers["keySize"]), printed.get("key")),
        value=_bytes(int(numbers["valueSize"]), printed.get("payload")),
        sequence=int(numbers.get("sequence", -1)),
        header_keys=keys[1] if keys else None,
        marker=marker[1] if marker else None,
    )


def _bytes(size: int, digits: str | None) -> bytes | None:
    """Decode printed bytes: null for a size of -1, else as many bytes as the size."""
    if size < 0 or digits is None:
        return None if size < 0 else UNPRINTED
    raw = bytes.fromhex(digits)
    assert len(raw) == size
    return raw


def _aborted(entry: str) -> tuple[int, int]:
    numbers = dict(_NUMBERS.findall(entry))
    return int(numbers["producerId"]), int(numbers["firstOffset"])
