"""`lagoon compare`: the differences between the records of two topics, in one cluster or two."""

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

from kafka_lagoon.cli.arguments import add_settings_options, add_warehouse, ids, names_among, number_from
from kafka_lagoon.cli.command import PLAIN, Command, Invocation
from kafka_lagoon.cli.file_modes import loaded
from kafka_lagoon.cli.output import failure_lines
from kafka_lagoon.cli.people import screen, table
from kafka_lagoon.cli.pipes import write
from kafka_lagoon.cli.terminal import COMPLETE, FAILED, INCOMPLETE, show_live, warn
from kafka_lagoon.clock import Clock
from kafka_lagoon.compare.differences import NOT_COMPARED, Kind
from kafka_lagoon.compare.multisets import SetDifference
from kafka_lagoon.compare.result import Comparison, How
from kafka_lagoon.compare.sequences import NOTHING_IN_COMMON
from kafka_lagoon.compare.sides import Source, TopicOfCluster, Wanted
from kafka_lagoon.compare.topics import compare_topics
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.fetch.offset_specs import (
    EARLIEST,
    LATEST,
    SPELLINGS,
    AtTime,
    OffsetSpec,
    OffsetSpecs,
    order_problems,
    parse_offset_specs,
)
from kafka_lagoon.records.digests import ALL_FIELDS
from kafka_lagoon.settings import Settings

_IGNORED = {"timestamp": "timestamp_ms", "key": "key", "value": "value", "headers": "headers", "order": None}
_ARCHIVE = "records@"
_SHOWN_EVERY = 1 << 18  # number of records after which the progress on a terminal is updated
_NOTHING_ALIKE = "no record is equal (if brokers set the timestamps, try --ignore timestamp)"
_COLUMNS = ("partition", "what", "records", "left", "right")

_WORDS: Mapping[Kind, str] = {
    Kind.MISSING: "missing in {right}",
    Kind.EXTRA: "only in {right}",
    Kind.DOUBLED_LEFT: "doubled in {left}",
    Kind.DOUBLED_RIGHT: "doubled in {right}",
    Kind.ALTERED: "altered",
    Kind.REORDERED: "reordered",
    Kind.EXPIRED_LEFT: "before what {left} still has",
    Kind.EXPIRED_RIGHT: "before what {right} still has",
    Kind.COMPACTED_LEFT: "compacted in {left}",
    Kind.COMPACTED_RIGHT: "compacted in {right}",
}

_EPILOG = """\
comparison:
  Every committed record is compared by its key, value, headers (in their order) and timestamp; null and empty differ.
  Offsets are not compared, because mirrored and restored records have other offsets. Partition 0 is compared with
  partition 0 and so on, in the order of the records. If the topics have different numbers of partitions, or with
  --ignore order, the topics are compared as a whole and without order.

  An archive and the topic that it was made of are compared within the offsets that both have. With an archive --from and
  --until take no time.

differences:
  missing         the first topic has the record, the second does not
  only in B       the second topic has the record, the first does not
  doubled in A/B  that topic has the record more often than the other
  altered         another record with the same key is in its place
  reordered       both have the record, in a different order
  Two kinds do not change the exit code: records that retention has removed from the start of one topic (before what A/B
  still has), and records that compaction has removed because a later record has their key (compacted in A/B).
  Topics that are compared as a whole have neither kind: such records are missing, or only in B.
  Partitions that are equal are read once; those that differ are read again, to count doubled records.

Exit codes: 0 equal, 1 failed or not all could be read, 2 bad arguments or settings, 3 different.
Required permissions: READ on both topics.
"""


def _declare(parser: ArgumentParser) -> None:
    parser.add_argument(
        "left",
        metavar="A:TOPIC",
        help="a topic of cluster A of [clusters.NAME] in the settings; records@A:TOPIC: its archived records",
    )
    parser.add_argument("right", metavar="B:TOPIC", help="the topic to compare it with; B may be A")
    parser.add_argument("--partitions", type=ids, metavar="0,1", help="only these partitions")
    parser.add_argument("--from", dest="start", metavar="WHERE", help=f"start of both sides: {SPELLINGS}")
    parser.add_argument("--until", metavar="WHERE", help="end of both sides, spelled like --from (default: latest)")
    parser.add_argument(
        "--ignore",
        type=names_among(_IGNORED),
        default=(),
        metavar="A,B",
        help=f"do not compare these: {', '.join(_IGNORED)}",
    )
    parser.add_argument(
        "-n", "--number", type=number_from(0), default=100, metavar="N", help="longest list of ranges (default: 100)"
    )
    parser.add_argument(
        "--json", action="store_true", help="print JSON lines: an object for each range, then a summary"
    )
    add_settings_options(parser)
    add_warehouse(parser)


def _compare(call: Invocation) -> int:
    options = call.options
    left, right, requested, how = _checked(options, call.environ, call.clock)
    progress = _ComparedRecords(f"{left} and {right}")
    try:
        comparison = compare_topics(left, right, requested, how, call.clock, progress.add)
    finally:
        progress.end()
    write(f"{line}\n" for line in (_json(comparison) if options.json else _lines(comparison, options.number)))
    if not options.json:
        for line in [*comparison.notes, *failure_lines(comparison.failures)]:
            warn(line)
    if comparison.failures:
        return FAILED
    return COMPLETE if comparison.is_equal() else INCOMPLETE


def _checked(options: Namespace, environ: Mapping[str, str], clock: Clock) -> tuple[Source, Source, Wanted, How]:
    """Check the sides and options of the comparison; ConfigError lists every fault."""
    problems: list[str] = []
    now_ms = clock.now_ms()  # of both times: two that are written alike are equal
    start = _specs("--from", options.start, EARLIEST, now_ms, problems)
    end = _specs("--until", options.until, LATEST, now_ms, problems)
    problems += order_problems(start, end)
    fields = ALL_FIELDS - {_IGNORED[name] for name in options.ignore}
    if not fields:
        problems.append("--ignore: nothing is left to compare")
    sides: list[Source] = []
    try:
        settings = loaded(options, environ, tables_needed=False)
    except ConfigError as error:
        problems += error.problems
    else:
        sides = [side for text in (options.left, options.right) if (side := _side(text, settings, problems))]
    if problems:
        raise ConfigError(problems)
    left, right = sides
    partitions = tuple(options.partitions) if options.partitions else None
    requested = Wanted(partitions=partitions, start=start, end=end)
    return left, right, requested, How(fields=frozenset(fields), in_order="order" not in options.ignore)


def _specs(name: str, text: str | None, default: OffsetSpec, now_ms: int, problems: list[str]) -> OffsetSpecs:
    if text is None:
        return OffsetSpecs(name=name, default=default)
    try:
        specs = parse_offset_specs(name, text, now_ms)
    except ValueError as error:
        problems.append(f"{name}: {error}")
        return OffsetSpecs(name=name, default=default)
    if specs.by_partition or specs.default is None:
        problems.append(f"{name}: the same for all partitions, because both topics have their own offsets")
    if isinstance(specs.default, AtTime) and specs.default.timestamp_ms > now_ms:
        problems.append(f"{name}: this time is in the future")
    return specs


def _archive(text: str, settings: Settings, problems: list[str]) -> Source | None:
    from kafka_lagoon.cli.engines import opened  # noqa: PLC0415  DuckDB: live topics need none
    from kafka_lagoon.restore.archive_side import ArchivedRecords  # noqa: PLC0415

    cluster, _, topic = text.removeprefix(_ARCHIVE).partition(":")
    if not settings.warehouse and not settings.catalog:
        problems.append(f"{text}: set warehouse, or catalog and schema, where the archive is")
        return None
    return ArchivedRecords(tables=partial(opened, settings), cluster=cluster, topic=topic)


def _side(text: str, settings: Settings, problems: list[str]) -> Source | None:
    cluster, colon, topic = text.removeprefix(_ARCHIVE).partition(":")
    known = settings.named_clusters()
    if not colon or not topic:
        problems.append(f"{text}: not CLUSTER:TOPIC")
    elif text.startswith(_ARCHIVE):
        return _archive(text, settings, problems)
    elif cluster not in known:
        problems.append(f"{text}: no cluster {cluster} in the settings ({', '.join(known)})")
    else:
        return TopicOfCluster(cluster=cluster, kafka=known[cluster], topic=topic)
    return None


class _ComparedRecords:
    """Shows the number of compared records on a terminal; several threads add to it."""

    def __init__(self, name: str) -> None:
        self._name, self._records, self._shown = name, 0, 0

    def add(self, records: int) -> None:
        """Add records that were compared."""
        self._records += records
        if self._records - self._shown >= _SHOWN_EVERY:
            self._shown = self._records
            show_live(self._name, f"{self._records:,} records compared")

    def end(self) -> None:
        """Remove the progress from the terminal."""
        show_live(self._name, None)


def _names(comparison: Comparison) -> dict[str, str]:
    """Name the sides by their clusters; if these are the same, by their topics; else as first and second."""
    left, right = comparison.left.of, comparison.right.of
    clusters = [str(side).rpartition(":")[0] for side in (left, right)]  # topics of one name, or their archives
    if clusters[0] != clusters[1]:
        return {"left": clusters[0], "right": clusters[1]}
    if left.topic != right.topic:
        return {"left": left.topic, "right": right.topic}
    return {"left": "the first", "right": "the second"}


def _lines(comparison: Comparison, most: int) -> Iterator[str]:
    names = _names(comparison)
    rows = list(_rows(comparison, names))
    if rows and most:
        headings = (*_COLUMNS[:3], names["left"], names["right"])
        yield from table(headings, rows[:most], screen())
        yield ""
    if len(rows) > most:
        yield f"{len(rows) - most:,} more ranges: choose -n or --json"
    yield from _summary(comparison, names)


def _summary(comparison: Comparison, names: Mapping[str, str]) -> Iterator[str]:
    left, right = comparison.left.of, comparison.right.of
    counts = comparison.counts()
    for part in comparison.partitions:
        if part.gave_up:
            why = _NOTHING_ALIKE if part.gave_up == NOTHING_IN_COMMON else "too many differences"
            yield f"partition {part.partition}: {why} after {part.equal:,} equal records: the rest was not compared"
    different = [f"{counts[kind]:,} {_WORDS[kind].format(**names)}" for kind in counts if kind not in NOT_COMPARED]
    left_out = [f"{counts[kind]:,} {_WORDS[kind].format(**names)}" for kind in counts if kind in NOT_COMPARED]
    order = "" if comparison.in_order else ", without regard to order"
    yield f"{left}: {comparison.left_records:,} records; {right}: {comparison.right_records:,}{order}"
    if left_out:
        yield f"not compared: {', '.join(left_out)}"
    if different:
        yield f"different: {', '.join(different)}"
    elif comparison.failures:
        yield "no difference in what could be read"
    else:
        yield "equal" if comparison.is_equal() else "different"


def _rows(comparison: Comparison, names: Mapping[str, str]) -> Iterator[tuple[Any, ...]]:
    for part in comparison.partitions:
        for difference in part.differences:
            left = _span(difference.left_first, difference.left_last)
            right = _span(difference.right_first, difference.right_last)
            yield part.partition, _WORDS[difference.kind].format(**names), difference.records, left, right
    for of_set in comparison.sets:
        partition = (of_set.left or of_set.right or (0, 0, 0))[0]
        ends = _span_of(of_set.left, partition), _span_of(of_set.right, partition)
        yield (partition, _WORDS[of_set.kind].format(**names), of_set.records, *ends)


def _span(first: int | None, last: int | None) -> str | None:
    """Spell the offsets of records, or the offset at which they are missing."""
    if last is None:
        return None if first is None else f"at {first}"
    return f"{first}" if first == last else f"{first} to {last}"


def _span_of(place: tuple[int, int, int] | None, partition: int) -> str | None:
    if place is None:
        return None
    number, first, last = place
    return f"{_span(first, last)}" + ("" if number == partition else f" of partition {number}")


def _json(comparison: Comparison) -> Iterator[str]:
    for part in comparison.partitions:
        for difference in part.differences:
            yield _object("difference", {"partition": part.partition, **asdict(difference)})
        yield _object(
            "partition",
            {
                "partition": part.partition,
                "left_from": part.left.from_offset,
                "left_to": part.left.to_offset,
                "right_from": part.right.from_offset,
                "right_to": part.right.to_offset,
                "left_records": part.left_records,
                "right_records": part.right_records,
                "equal": part.equal,
                "gave_up": part.gave_up,
            },
        )
    for of_set in comparison.sets:
        yield _object("difference", _of_set(of_set))
    for failure in comparison.failures:
        yield _object("failure", {"scope": str(failure.scope), "problem": failure.name, "message": failure.message})
    yield _object(
        "summary",
        {
            "left": str(comparison.left.of),
            "right": str(comparison.right.of),
            "left_cluster_id": comparison.left.cluster_id,
            "right_cluster_id": comparison.right.cluster_id,
            "in_order": comparison.in_order,
            "left_records": comparison.left_records,
            "right_records": comparison.right_records,
            "counts": comparison.counts(),
            "is_whole": comparison.is_whole,
            "is_equal": comparison.is_equal() and not comparison.failures,
            "notes": comparison.notes,
        },
    )


def _of_set(of_set: SetDifference) -> dict[str, Any]:
    ours, theirs = of_set.left or (None, None, None), of_set.right or (None, None, None)
    return {
        "left_partition": ours[0],
        "right_partition": theirs[0],
        "kind": of_set.kind,
        "records": of_set.records,
        "left_first": ours[1],
        "left_last": ours[2],
        "right_first": theirs[1],
        "right_last": theirs[2],
    }


def _object(kind: str, fields: Mapping[str, Any]) -> str:
    """Make a line of JSON. `what` is the kind of a difference, because `kind` is the kind of the line."""
    renamed = {("what" if name == "kind" else name): value for name, value in fields.items()}
    return json.dumps({"kind": kind, **renamed})


COMMAND = Command(
    kind=PLAIN,
    summary="Compares the records of two topics, in one cluster or two.",
    epilog=_EPILOG,
    examples=(
        "lagoon compare prod:orders spare:orders --conf lagoon.toml",
        "lagoon compare prod:orders prod:orders-copy --conf lagoon.toml --ignore order,timestamp",
    ),
    declare=_declare,
    answer=_compare,
)
