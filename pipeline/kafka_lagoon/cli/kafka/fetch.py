"""`lagoon kafka fetch`: prints records of a topic, from a chosen offset or time on."""

import re
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, cast

from kafka_lagoon.cli.arguments import names_among, not_empty
from kafka_lagoon.cli.command import Command
from kafka_lagoon.cli.kafka.command import CLUSTER, ClusterContext, refuse
from kafka_lagoon.cli.kafka.fetch_ranges import FetchRange, Missing, fetch_ranges, start_specs
from kafka_lagoon.cli.kafka.formatting import FORMATS, NULL, as_text, escaped, text_or_bytes
from kafka_lagoon.cli.output import CommandOutput, RowSet
from kafka_lagoon.cli.people import moment
from kafka_lagoon.cli.permissions import READ_TOPIC, Requirement
from kafka_lagoon.cli.pipes import write_utf8
from kafka_lagoon.client.agreement import agreed_metadata
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import BrokerError
from kafka_lagoon.fetch.offset_specs import SPELLINGS
from kafka_lagoon.fetch.split import READ_COMMITTED, READ_UNCOMMITTED, ReadOptions
from kafka_lagoon.protocol.error_codes import UNKNOWN_TOPIC_OR_PARTITION, error_code
from kafka_lagoon.protocol.messages.metadata import METADATA, MetadataTopic
from kafka_lagoon.records.decoding import DecodeOptions
from kafka_lagoon.records.layout import NO_TIME
from kafka_lagoon.topic_partition import TopicPartition
from kafka_lagoon.wire.primitives import uuid_text

Row = dict[str, Any]

_SELECTION = re.compile(r"(?P<topic>[a-zA-Z0-9._-]{1,249})(?::(?P<partitions>\d{1,9}(?:,\d{1,9})*))?", re.ASCII)
_FIELDS = ("partition", "offset", "timestamp", "key", "value", "headers")
_FEW_RECORDS, _FEW_BYTES, _MANY_BYTES = 1_000, 1 << 20, 8 << 20

_EPILOG = """\
order:
  One partition after the other, each in the order of its offsets; the ten records of -n 10 may all be of one partition.
  --by-time merges the partitions by timestamp, and opens connections for each of them. --follow reads them in rounds.

output:
  A line for each record, with fields separated by tabs: partition, offset, time, key, value, and each header as key=value.
  A dash is null. Format text is UTF-8; other bytes and control characters are escaped (\\n, \\t, \\x1b), so that a record
  is one line and cannot send commands to the terminal. raw writes the bytes unchanged. json formats JSON on one line, and
  shows everything else as text. --json prints every field of a record: key, value and header values are texts, or
  {"base64": ...} if they are not UTF-8; `produce --json` accepts these lines.
"""


@dataclass(slots=True)  # frozen dataclasses would double the time that a record takes
class Header:
    """A header of a record."""

    key: str
    value: Any


@dataclass(slots=True, kw_only=True)
class FetchedRecord:
    """A record with all fields of its batch, and with key and value in the format of the options."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    timestamp_type: int
    key: Any
    value: Any
    headers: tuple[Header, ...]
    leader_epoch: int | None
    producer_id: int | None
    producer_epoch: int | None
    is_transactional: bool
    is_aborted: bool | None


def _declare(parser: ArgumentParser) -> None:
    parser.add_argument("selection", metavar="TOPIC[:PARTITION,...]", help="a topic, or partitions of it")
    parser.add_argument("-n", "--number", type=int, metavar="N", help="end after N records in all")
    parser.add_argument(
        "--from",
        dest="start",
        type=not_empty,
        metavar="WHERE",
        help=f"start position (default: earliest; with --follow latest): {SPELLINGS}",
    )
    parser.add_argument(
        "--last", type=int, metavar="N", help="the last N offsets of each partition; short for --from latest-N"
    )
    parser.add_argument("-f", "--follow", action="store_true", help="wait for new records, until --timeout if given")
    parser.add_argument(
        "--by-time", action="store_true", help="merge all partitions by timestamp, the earliest record first"
    )
    parser.add_argument(
        "--isolation-level",
        choices=(READ_COMMITTED, READ_UNCOMMITTED),
        default=READ_COMMITTED,
        help="read_committed leaves out records of aborted and open transactions, read_uncommitted prints them, too "
        "(default: read_committed)",
    )
    parser.add_argument(
        "--fields",
        type=names_among(_FIELDS),
        metavar="A,B",
        help=f"fields to print (default: {','.join(_FIELDS)})",
    )
    parser.add_argument("--format", choices=FORMATS, default="text", help="format of keys and values (default: text)")
    parser.add_argument("--key-format", choices=FORMATS, help="format of keys (default: --format)")


def _faults(options: Namespace) -> Iterator[str]:
    if not _SELECTION.fullmatch(options.selection):
        yield f"{options.selection}: not TOPIC or TOPIC:PARTITION,..."
    if options.start is not None and options.last is not None:
        yield "--from and --last exclude each other"
    if options.follow and options.by_time:
        yield "--by-time and --follow exclude each other, because new records cannot be put before printed ones"
    if options.fields and options.json:
        yield "--fields and --json exclude each other: objects have all fields"
    if any(number is not None and number < 0 for number in (options.number, options.last)):
        yield "-n and --last: must not be below 0"
    try:
        start_specs(options, 0)
    except ValueError as error:
        yield f"--from: {error}"


def _answer(context: ClusterContext) -> CommandOutput:
    options, missing = context.options, Missing()
    topic, partitions = _topic(context)
    start = start_specs(options, context.cluster.clock.now_ms())
    if problems := start.problems(partitions, {}):
        refuse(*problems)
    ranges = fetch_ranges(context.cluster, partitions, start, options.isolation_level, missing, context.deadline)
    if options.format == "raw" or options.key_format == "raw":
        write_utf8(errors="surrogateescape")  # bytes that are not UTF-8 are written unchanged
    rows = _limited(_rows(context, topic, ranges, missing), options.number)
    shown = _records(rows, topic.name or "", options) if options.json else rows
    part = RowSet(kind="record", rows=shown, line=_line(options))
    return CommandOutput(rows=[part], failures=missing.failures, notes=missing.notes)


def _topic(context: ClusterContext) -> tuple[MetadataTopic, list[TopicPartition]]:
    """Return the topic and its partitions to read; refuse a topic or partitions that do not exist."""
    selection = cast("re.Match[str]", _SELECTION.fullmatch(context.options.selection))
    name = selection["topic"]
    (topic,) = agreed_metadata(context.cluster, {name}, context.deadline).topics
    if topic.error_code == UNKNOWN_TOPIC_OR_PARTITION:
        refuse(f"{name}: no such topic")
    if not topic.partitions:
        raise BrokerError(topic.error_code, error_code(topic.error_code).name, METADATA.name, name)
    known = {partition.partition_index for partition in topic.partitions}
    chosen = selection["partitions"]
    numbers = [int(text) for text in chosen.split(",")] if chosen else sorted(known)
    if absent := [number for number in numbers if number not in known]:
        refuse(f"{name}:{absent[0]}: {name} has {len(known)} partitions, from 0 on")
    return topic, [TopicPartition(name, number) for number in dict.fromkeys(numbers)]


def _rows(
    context: ClusterContext, topic: MetadataTopic, ranges: Mapping[TopicPartition, FetchRange], missing: Missing
) -> Iterator[Row]:
    """Read rows in the order of the options. Reading ends with a note when `--timeout` passes."""
    from kafka_lagoon.cli.kafka.reading import Source, by_partition, by_time, following  # noqa: PLC0415  takes 0.2 s

    options, cluster = context.options, context.cluster
    source = Source(
        topic=topic.name or "",
        topic_id=uuid_text(topic.topic_id),
        options=_options(options, _stall_timeout_ms(context)),
    )
    until = context.deadline if options.timeout else None
    if options.follow:
        return following(cluster, source, ranges, missing, until)
    rows = (by_time if options.by_time else by_partition)(cluster, source, ranges, missing)
    return _in_time(rows, until, source.topic, ranges, missing) if until else rows


def _stall_timeout_ms(context: ClusterContext) -> int:
    """Return the longest time to wait for a broker, the same as in other verbs."""
    return min(context.deadline.budget_ms, context.cluster.settings.default_api_timeout_ms)


def _options(options: Namespace, stall_timeout_ms: int) -> ReadOptions:
    """Choose fetch options: small requests if few records are needed, and only the columns that are shown."""
    is_few = options.number is not None and options.number <= _FEW_RECORDS
    shown = {"timestamp_ms" if name == "timestamp" else name for name in options.fields or _FIELDS}
    columns = FetchedRecord.__dataclass_fields__ if options.json else {*shown, "offset", "timestamp_ms"}
    return ReadOptions(
        isolation_level=options.isolation_level,
        fetch_bytes=_FEW_BYTES if is_few else _MANY_BYTES,
        decoding=DecodeOptions(columns=frozenset(columns)),
        stall_timeout_ms=stall_timeout_ms,
    )


def _in_time(
    rows: Iterator[Row], until: Deadline, topic: str, ranges: Mapping[TopicPartition, FetchRange], missing: Missing
) -> Iterator[Row]:
    """Yield rows until the deadline; then a note has what --from takes to read the rest.

    It names every partition, because --from reads the others from their start.
    """
    left = {partition.partition: offsets.start for partition, offsets in ranges.items()}
    for row in rows:
        if until.passed():
            rest = ",".join(f"{topic}:{number}={offset}" for number, offset in sorted(left.items()))
            missing.notes.append(f"--timeout: not all is read; the rest: --from {rest}")
            return
        left[row["partition"]] = row["offset"] + 1
        yield row


def _limited(rows: Iterator[Row], number: int | None) -> Iterator[Row]:
    """Yield at most `number` rows; reading ends with the last."""
    with closing(cast("Any", rows)):
        if number == 0:
            return
        for count, row in enumerate(rows, 1):
            yield row
            if count == number:
                return


def _records(rows: Iterable[Row], topic: str, options: Namespace) -> Iterator[FetchedRecord]:
    show_key, show_value = FORMATS[options.key_format or options.format][1], FORMATS[options.format][1]
    for row in rows:
        key, value = row.pop("key"), row.pop("value")
        headers = tuple(Header(one["key"], _nullable(text_or_bytes, one["value"])) for one in row.pop("headers"))
        yield FetchedRecord(
            topic=topic, key=_nullable(show_key, key), value=_nullable(show_value, value), headers=headers, **row
        )


def _nullable(show: Callable[[bytes], Any], raw: bytes | None) -> Any:
    return None if raw is None else show(raw)


def _line(options: Namespace) -> Callable[[Row], str]:
    """Make the function that spells a record as a line of the chosen fields."""
    show_key, show_value = FORMATS[options.key_format or options.format][0], FORMATS[options.format][0]
    cells: dict[str, Callable[[Row], Sequence[str]]] = {
        "partition": lambda row: [str(row["partition"])],
        "offset": lambda row: [str(row["offset"])],
        "timestamp": lambda row: [_time(row["timestamp_ms"])],
        "key": lambda row: [NULL if row["key"] is None else show_key(row["key"])],
        "value": lambda row: [NULL if row["value"] is None else show_value(row["value"])],
        "headers": lambda row: [*map(_header, row["headers"])],
    }
    wanted = [cells[name] for name in options.fields or _FIELDS]
    return lambda row: "\t".join(cell for cells_of in wanted for cell in cells_of(row))


def _time(timestamp_ms: int) -> str:
    return NULL if timestamp_ms == NO_TIME else str(moment(timestamp_ms))


def _header(header: Mapping[str, Any]) -> str:
    value = header["value"]
    return f"{escaped(header['key'])}={NULL if value is None else as_text(value)}"


COMMAND = Command(
    kind=CLUSTER,
    summary="Prints records of a topic.",
    examples=(
        "lagoon kafka fetch orders -b kafka-1:9092 --last 10",
        "lagoon kafka fetch orders:0 -b kafka-1:9092 --from '2026-07-14T09:00' -n 100 --json",
        "lagoon kafka fetch orders -b kafka-1:9092 --follow",
    ),
    declare=_declare,
    answer=_answer,
    epilog=_EPILOG,
    check=_faults,
    requires={"": Requirement(permissions=(READ_TOPIC,))},
)
