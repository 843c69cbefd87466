"""`lagoon kafka produce`: writes lines of input as records of a topic, and prints their partitions and offsets."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator

from kafka_lagoon.admin.permissions import Permission
from kafka_lagoon.cli.arguments import moment_argument
from kafka_lagoon.cli.command import Command
from kafka_lagoon.cli.kafka.command import ClusterContext, cluster_kind, refuse
from kafka_lagoon.cli.kafka.input_lines import bursts
from kafka_lagoon.cli.kafka.line_writer import LineWriter, WrittenRecord
from kafka_lagoon.cli.kafka.record_lines import json_parser, text_parser
from kafka_lagoon.cli.output import CommandOutput, RowSet
from kafka_lagoon.cli.permissions import Requirement
from kafka_lagoon.errors import BrokerError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.produce.batching import ProducerRecord
from kafka_lagoon.produce.sequences import SequenceNumbers, init_producer_id
from kafka_lagoon.produce.targets import TargetTopic, describe_targets
from kafka_lagoon.produce.writer import Target, TopicWriter
from kafka_lagoon.protocol import acls
from kafka_lagoon.protocol.error_codes import CLUSTER_AUTHORIZATION_FAILED, UNKNOWN_TOPIC_OR_PARTITION
from kafka_lagoon.protocol.messages.produce import ALL_ACKS, LEADER_ACKS, NO_ACKS
from kafka_lagoon.records.compressing import CODECS
from kafka_lagoon.records.encoding import Header
from kafka_lagoon.times import FORMS

_ACKS = {"all": ALL_ACKS, "-1": ALL_ACKS, "1": LEADER_ACKS, "0": NO_ACKS}
_BURST_BYTES = 4 << 20

_EPILOG = """\
acks and what they guarantee:
  all  (default) Every in-sync replica has the record (see min.insync.replicas). It is written exactly once, even if
       connections break, because brokers recognize a repeated batch by its producer id.
  1    The leader has the record, which is lost if the leader fails before others have replicated it. There is no producer
       id: a batch without a response is not sent again, and the failure says that it may have been written.
  0    The record was sent. Brokers do not respond, so neither offsets nor errors are known.

input:
  Each line is a value, without its line feed; an empty line is an empty value. With --json each line is an object:
  {"key": ..., "value": ..., "headers": [{"key": ..., "value": ...}], "partition": 0, "timestamp": ...}. A value is
  text, null, {"base64": ...}, or any other JSON, which is written as JSON. The lines of `fetch --json` are accepted.
  Fields of a line override the options.

partitions:
  A key chooses the same partition as in the Java client (murmur2). Records without a key go to one partition until
  their batch is written, and then to the next partition. Writing ends at the first refused record, with exit code 3; the
  output names the lines that were written and those that were not.
"""


@frozen(kw_only=False)
class Count:
    """The number of records that were written."""

    topic: str
    records: int


def _declare(parser: ArgumentParser) -> None:
    parser.add_argument("topic", metavar="TOPIC", help="must exist")
    parser.add_argument("--value", help="write one record with this value instead of reading standard input")
    parser.add_argument("--key", help="key of all records")
    parser.add_argument("--key-separator", metavar="TEXT", help=r"separator of key and value in each line; \t is a tab")
    parser.add_argument(
        "--header",
        dest="headers",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="header of all records; may be given several times",
    )
    parser.add_argument("--partition", type=int, metavar="N", help="partition of all records, also of those with a key")
    parser.add_argument(
        "--timestamp", type=moment_argument, metavar="TIME", help=f"timestamp of all records ({FORMS}); default: now"
    )
    parser.add_argument("--acks", choices=_ACKS, default="all", help="acknowledgements, see below (default: all)")
    parser.add_argument("--compression", choices=CODECS, default="none", help="default: none")
    parser.add_argument(
        "--batch-bytes",
        type=int,
        metavar="N",
        help="largest batch, before compression (default: 500000, or max.message.bytes of the topic if that is less)",
    )
    parser.add_argument("--count", action="store_true", help="print only the number of written records")


def _faults(options: Namespace) -> Iterator[str]:
    if options.key is not None and options.key_separator is not None:
        yield "--key and --key-separator: a record has one key"
    if options.key_separator == "":
        yield "--key-separator: must not be empty"
    if options.key_separator is not None and (options.json or options.value is not None):
        yield "--key-separator is for lines of text"
    if options.batch_bytes is not None and options.batch_bytes <= 0:
        yield "--batch-bytes: must be above 0"
    for header in options.headers:
        if "=" not in header:
            yield f"--header {header}: not KEY=VALUE"


def _answer(context: ClusterContext) -> CommandOutput:
    options, cluster = context.options, context.cluster
    topic = _topic(context)
    target = Target(
        topic=options.topic,
        acks=_ACKS[options.acks],
        codec=CODECS[options.compression],
        batch_bytes=options.batch_bytes,
        delivery_timeout_ms=round(options.timeout * 1000) if options.timeout else None,
    )
    sequences = _sequences(context) if target.acks == ALL_ACKS else SequenceNumbers()
    writer = TopicWriter(cluster, topic, target, sequences)
    defaults = ProducerRecord(
        key=_raw(options.key),
        value=_raw(options.value),
        headers=tuple(map(_header, options.headers)),
        partition=options.partition,
        timestamp_ms=options.timestamp.at_ms(cluster.clock.now_ms()) if options.timestamp else None,
    )
    lines, rows = _written(writer, options, topic.partitions, defaults)
    part = (
        RowSet(
            kind="count", rows=_count(lines, rows, options.topic), line=lambda row: f"{row.records:,} records written"
        )
        if options.count
        else RowSet(kind="written", rows=rows, line=_line)
    )
    return CommandOutput(rows=[part], failures=lines.failures, notes=lines.notes)


def _topic(context: ClusterContext) -> TargetTopic:
    """Describe the topic; refuse a topic or a partition that does not exist."""
    options = context.options
    try:
        topic = describe_targets(context.cluster, [options.topic], context.deadline)[options.topic]
    except BrokerError as error:
        if error.code == UNKNOWN_TOPIC_OR_PARTITION:
            refuse(f"{options.topic}: no such topic")
        raise
    if options.partition is not None and not 0 <= options.partition < topic.partitions:
        refuse(f"--partition {options.partition}: {options.topic} has {topic.partitions} partitions, from 0 on")
    return topic


def _sequences(context: ClusterContext) -> SequenceNumbers:
    try:
        return init_producer_id(context.cluster, context.deadline)
    except BrokerError as error:
        if error.code != CLUSTER_AUTHORIZATION_FAILED:
            raise
        hint = (
            "it needs WRITE on a topic, on brokers before 2.8 IdempotentWrite on the cluster; --acks 1 does not need it"
        )
        raise BrokerError(error.code, error.name, error.api, "a producer id", hint) from error


def _written(
    writer: TopicWriter, options: Namespace, partitions: int, defaults: ProducerRecord
) -> tuple[LineWriter, Iterator[WrittenRecord]]:
    """Return rows of records, which are written while the rows are read, and the writer, which keeps the failures."""
    if options.value is not None:
        lines = LineWriter(writer, lambda _: defaults)
        return lines, lines.write([[b""]])
    parse = (
        json_parser(defaults, partitions) if options.json else text_parser(defaults, _separator(options.key_separator))
    )
    lines = LineWriter(writer, parse)
    return lines, lines.write(bursts(sys.stdin.fileno(), _BURST_BYTES))


def _count(lines: LineWriter, rows: Iterator[WrittenRecord], topic: str) -> Iterator[Count]:
    for _ in rows:
        pass
    yield Count(topic, lines.written)


def _line(row: WrittenRecord) -> str:
    return f"{row.partition}:{'-' if row.offset is None else row.offset}"


def _raw(text: str | None) -> bytes | None:
    """Return the bytes of a command-line argument."""
    return None if text is None else text.encode(errors="surrogateescape")


def _header(text: str) -> Header:
    key, _, value = text.encode(errors="surrogateescape").partition(b"=")
    return key, value


def _separator(text: str | None) -> bytes | None:
    return _raw(text.replace("\\t", "\t")) if text is not None else None


COMMAND = Command(
    kind=cluster_kind(
        timeout="longest time for each request, not for the whole input",
        json="read and print one JSON object per record, with exact numbers",
    ),
    summary="Writes records to a topic: the lines of standard input, or one --value.",
    examples=(
        "lagoon kafka produce orders -b kafka-1:9092 --key 17 --value shipped",
        "lagoon kafka fetch orders -b kafka-1:9092 --json | lagoon kafka produce orders-copy -b kafka-1:9092 --json",
    ),
    declare=_declare,
    answer=_answer,
    epilog=_EPILOG,
    check=_faults,
    requires={
        "": Requirement(
            permissions=(Permission(acls.WRITE, acls.TOPIC, "refused"),),
            remark="Brokers from 2.8 on do not want IDEMPOTENT_WRITE on Cluster for it. With DESCRIBE_CONFIGS on the topic, "
            "batches have no more than its max.message.bytes.",
        )
    },
)
