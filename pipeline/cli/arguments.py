"""Command line and environment in, settings and the run's own arguments out.

Guards one rule: every fault is known before any I/O with a cluster or a table.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pipeline.client.deadline import Clock
from pipeline.errors import ConfigError
from pipeline.settings import Settings, load


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotArguments:
    """What one run of the snapshot job is told; `slot_ms` is the scheduler's time in epoch milliseconds."""

    settings: Settings
    slot_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlArguments:
    """What `lagoon sql` is told; without a statement it lists tables and views."""

    settings: Settings
    statement: str | None
    as_json: bool


def snapshot_arguments(argv: Sequence[str], environ: Mapping[str, str], clock: Clock) -> SnapshotArguments:
    """Arguments of `lagoon snapshot` and jobs/snapshot.py; ConfigError lists every fault."""
    parser = _parser("snapshot", "One snapshot of one or more clusters into the state tables.")
    parser.add_argument("--slot", metavar="TIME", help="the scheduler's time (ISO 8601), published once; default: now")
    told = parser.parse_args(argv)
    problems: list[str] = []
    slot_ms = _slot_ms(told.slot, problems) if told.slot else clock.now_ms()
    try:
        settings = load(told.conf, environ, _overrides(told), told.kafka_properties)
    except ConfigError as error:
        raise ConfigError([*problems, *error.problems]) from None
    distance_ms = abs(clock.now_ms() - slot_ms)
    if not problems and distance_ms > settings.snapshot.slot_max_age_ms:
        problems.append(
            f"--slot {told.slot} is {distance_ms // 60_000} minutes from now: the state of a cluster can only be "
            "captured as it is; see snapshot.slot_max_age_ms"
        )
    if problems:
        raise ConfigError(problems)
    return SnapshotArguments(settings=settings, slot_ms=slot_ms)


def sql_arguments(argv: Sequence[str], environ: Mapping[str, str]) -> SqlArguments:
    """Arguments of `lagoon sql`."""
    parser = _parser("sql", "Run one SQL statement over the tables and views.")
    parser.add_argument("statement", nargs="?", help="without one, tables and views are listed")
    parser.add_argument("--json", action="store_true", help="one JSON object per row")
    told = parser.parse_args(argv)
    settings = load(told.conf, environ, _overrides(told), told.kafka_properties, cluster_needed=False)
    return SqlArguments(settings=settings, statement=told.statement, as_json=told.json)


def _parser(command: str, description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"lagoon {command}", description=description, allow_abbrev=False)
    parser.add_argument("--conf", type=Path, metavar="FILE", help="settings as TOML")
    parser.add_argument("--kafka-properties", type=Path, metavar="FILE", help="a Java client's properties file")
    parser.add_argument("--warehouse", metavar="PLACE", help="short for --set warehouse=PLACE")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="one setting, e.g. kafka.client_id=night"
    )
    return parser


def _overrides(told: argparse.Namespace) -> list[str]:
    overrides: list[str] = list(told.set)
    return [*overrides, f"warehouse={told.warehouse}"] if told.warehouse else overrides


def _slot_ms(text: str, problems: list[str]) -> int:
    try:
        slot = datetime.fromisoformat(text)
    except ValueError:
        problems.append(f"--slot {text}: not a time like 2026-11-21T06:00:00Z")
        return 0
    return round((slot if slot.tzinfo else slot.replace(tzinfo=UTC)).timestamp() * 1000)
