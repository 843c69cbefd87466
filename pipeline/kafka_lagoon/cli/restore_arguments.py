"""Parses the command line of `lagoon restore`. Every fault is known before any I/O with a cluster or a table."""

import re
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence

from kafka_lagoon.cli.arguments import (
    add_flags,
    names,
    not_empty,
    number_from,
    parsed_time,
    pattern,
    split_names,
)
from kafka_lagoon.cli.file_modes import check_creation, loaded
from kafka_lagoon.cli.planned_actions import confirmation_problems
from kafka_lagoon.client.identity import topic_fault
from kafka_lagoon.clock import Clock
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.integers import MOST_INT16
from kafka_lagoon.restore.request import RestoreRequest
from kafka_lagoon.settings import Settings
from kafka_lagoon.text import did_you_mean
from kafka_lagoon.times import FORMS

_PARTITION = re.compile(r"[0-9]{1,10}")
_RENAME = "--rename"


@frozen
class RestoreArguments:
    """Settings and options of one run of the restore job."""

    settings: Settings
    request: RestoreRequest
    is_confirmed: bool


def declare(parser: ArgumentParser) -> None:
    """Declare the options of `lagoon restore`."""
    parser.add_argument(
        "--from-cluster",
        required=True,
        metavar="NAME",
        help="source cluster: its name in the tables, or Kafka's id of it",
    )
    parser.add_argument("--to-cluster", required=True, metavar="NAME", help="target cluster: its name in the settings")
    parser.add_argument("--topics", type=names, default=[], metavar="A,B", help="names of archived topics")
    parser.add_argument(
        "--pattern",
        type=pattern,
        metavar="REGEX",
        help="also archived topics whose whole names match, except internal topics",
    )
    repeated = (
        ("--partitions", "TOPIC:0,1", "restore only these partitions of a topic"),
        ("--rename", "OLD=NEW", "name of a topic in the target cluster"),
        ("--topic-id", "TOPIC=ID", "id of an earlier topic of this name, or none; default: the last topic"),
    )
    for option, form, meaning in repeated:
        parser.add_argument(option, action="append", default=[], metavar=form, help=meaning)
    parser.add_argument(
        "--where",
        type=not_empty,
        metavar="SQL",
        help="only records that meet a condition over the columns of table records",
    )
    parser.add_argument(
        "--from", dest="start", metavar="TIME", help=f"only records with timestamps at or after this time ({FORMS})"
    )
    parser.add_argument("--until", metavar="TIME", help="only records with timestamps before this time")
    parser.add_argument(
        "--at",
        metavar="TIME",
        help="take topics, configs, ACLs and offsets from the newest snapshot that had begun at this time; default: the newest",
    )
    parser.add_argument(
        "--replication-factor",
        type=number_from(1, MOST_INT16),
        metavar="N",
        help="replication factor of created topics; default: the archived topic's",
    )
    parser.add_argument("-y", "--yes", action="store_true", help="write without asking")
    add_flags(
        parser,
        {
            "--with-configs": "give created topics their archived configs",
            "--with-acls": "create the ACLs of the topics, and with --with-offsets those of groups",
            "--with-offsets": "set the translated offsets of groups once all records are written",
            "--transactional": "write in transactions, so that readers of committed records never see a part of a batch",
            "--into-existing": "append to topics that have records already",
            "--accept-changes": "continue if records lose their timestamps, or if retention will delete them",
            "--new": "start a new restore, even if the last one with these arguments is unfinished",
            "--dry-run": "print the plan and its conflicts, and change nothing",
        },
    )


def restore_arguments(args: Namespace, environ: Mapping[str, str], clock: Clock) -> RestoreArguments:
    """Check options and settings; ConfigError lists every fault."""
    problems, now_ms = confirmation_problems(args), clock.now_ms()
    try:
        settings = loaded(args, environ)
        check_creation(settings)
    except ConfigError as error:
        problems += error.problems
        settings = None
    clusters = settings.named_clusters() if settings else {}
    if settings and args.to_cluster not in clusters:
        problems.append(
            f"--to-cluster: no cluster {args.to_cluster} in the settings{did_you_mean(args.to_cluster, clusters)}"
        )
    request = RestoreRequest(
        from_cluster=args.from_cluster,
        to_cluster=args.to_cluster,
        topics=tuple(dict.fromkeys(args.topics)),
        partitions=_partitions(args.partitions, args.topics, problems),
        renames=_pairs(_RENAME, args.rename, args.topics, problems),
        topic_ids=_pairs("--topic-id", args.topic_id, args.topics, problems),
        pattern=args.pattern.pattern if args.pattern else None,
        condition=_condition(args.where, args.start, args.until, now_ms, problems),
        at_ms=parsed_time("--at", args.at, now_ms, problems),
        with_configs=args.with_configs,
        with_acls=args.with_acls,
        with_offsets=args.with_offsets,
        replication_factor=args.replication_factor,
        is_transactional=args.transactional,
        into_existing=args.into_existing,
        accept_changes=args.accept_changes,
        is_new=args.new,
        is_dry_run=args.dry_run,
    )
    problems += request.same_targets(request.topics)
    if not (args.topics or args.pattern):
        problems.append("--topics or --pattern: name the topics")
    if problems or settings is None:
        raise ConfigError(problems)
    return RestoreArguments(settings=settings, request=request, is_confirmed=args.yes)


def _partitions(texts: Sequence[str], topics: Sequence[str], problems: list[str]) -> Mapping[str, tuple[int, ...]]:
    results: dict[str, tuple[int, ...]] = {}
    for text in texts:
        topic, _, numbers = text.rpartition(":")
        parts = split_names(numbers)
        if not topic or not parts or not all(map(_PARTITION.fullmatch, parts)):
            problems.append(f"--partitions {text}: write it as TOPIC:0,1")
        elif topic not in topics:
            problems.append(f"--partitions {text}: {topic} is not in --topics")
        else:
            results[topic] = tuple(sorted({*results.get(topic, ()), *map(int, parts)}))
    return results


def _pairs(option: str, texts: Sequence[str], topics: Sequence[str], problems: list[str]) -> Mapping[str, str]:
    pairs: dict[str, str] = {}
    for text in texts:
        topic, separator, value = text.partition("=")
        if not separator or not topic or not value:
            problems.append(f"{option} {text}: write it as TOPIC=...")
        elif topic not in topics:
            problems.append(f"{option} {text}: {topic} is not in --topics")
        elif option == _RENAME and (fault := topic_fault(value)):
            problems.append(f"{option} {topic}: {fault}")
        elif pairs.setdefault(topic, value) != value:
            problems.append(f"{option} {text}: {topic} has {pairs[topic]} already")
    return pairs


def _condition(where: str | None, start: str | None, until: str | None, now_ms: int, problems: list[str]) -> str | None:
    """Join all conditions to one; faults of --where are added to the problems."""
    start_ms = parsed_time("--from", start, now_ms, problems)
    until_ms = parsed_time("--until", until, now_ms, problems)
    parts = [f"timestamp_ms < {until_ms}"] if until_ms is not None else []
    parts += [f"timestamp_ms >= {start_ms}"] if start_ms is not None else []
    if start_ms is not None and until_ms is not None and start_ms >= until_ms:
        problems.append("--from: is not before --until")
    if where:
        from kafka_lagoon.query.duckdb_engine import quoted_offset  # noqa: PLC0415  only a condition needs DuckDB
        from kafka_lagoon.restore.conditions import faults_of  # noqa: PLC0415

        condition = quoted_offset(where)
        problems += [f"--where: {fault}" for fault in faults_of(condition)]
        parts.append(condition)
    return " AND ".join(f"({part})" for part in parts) or None
