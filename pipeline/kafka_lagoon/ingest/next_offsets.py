"""What table `records` knows of its own making: positions and the last run in, JSON in the table's log out, and back.

Guards one rule: where to go on is committed together with the records, in one version of the table (as Delta's domain
metadata), so neither can be there without the other.
"""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kafka_lagoon.errors import TableError
from kafka_lagoon.fetch.leader_epochs import EpochRange
from kafka_lagoon.fetch.plan import Archived
from kafka_lagoon.fetch.ranges import Position

# In format 1 an epoch has its first offset only, next offsets are never confirmed, and rows to be added lie beside the data
# files of their tables.
_FORMAT, _KNOWN_FORMATS = 2, (1, 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedFile:
    """A file that waits to be committed; `name` is its path in the folder of table `records` or in the staging folder.

    In ledgers of format 1 it is the path in the folder of the table that it is to be added to.
    """

    name: str
    size: int
    rows: int
    modified_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LastRun:
    """The last run that committed records: its number, the version it built on, and the rows that it owes other tables."""

    ingest_id: str
    sequence: int
    ingest_date: str
    base_version: int
    ranges: StagedFile | None
    problems: StagedFile | None
    records: tuple[StagedFile, ...] = ()  # data files that Spark has still to write into the table


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """Everything that one cluster's archive goes on from."""

    topics: Mapping[str, Archived] = field(default_factory=dict)
    last: LastRun | None = None


def domain(cluster_id: str) -> str:
    """The name under which a cluster's ledger stands in the log of table `records`."""
    return f"lagoon.next_offsets.{cluster_id}"


def to_json(ledger: Ledger) -> str:
    """The ledger as it stands in the log."""
    topics = {
        name: {"id": one.topic_id, "partitions": {str(p): _spelled(at) for p, at in sorted(one.partitions.items())}}
        for name, one in sorted(ledger.topics.items())
    }
    run = None if ledger.last is None else dataclasses.asdict(ledger.last)
    return json.dumps({"format": _FORMAT, "run": run, "topics": topics}, separators=(",", ":"))


def from_json(text: str | None) -> Ledger:
    """The ledger that was written; an empty one if there is none. TableError for one of a newer format."""
    if text is None:
        return Ledger()
    told = json.loads(text)
    if told["format"] not in _KNOWN_FORMATS:
        raise TableError(f"table records was written by a newer Kafka Lagoon (ledger format {told['format']})")
    topics = {
        name: Archived(
            topic_id=one["id"], partitions={int(number): _position(at) for number, at in one["partitions"].items()}
        )
        for name, one in told["topics"].items()
    }
    return Ledger(topics=topics, last=_last_run(told["run"]))


def _last_run(told: dict[str, Any] | None) -> LastRun | None:
    if told is None:
        return None
    files = {name: StagedFile(**told[name]) if told[name] else None for name in ("ranges", "problems")}
    return LastRun(**{**told, **files, "records": tuple(StagedFile(**one) for one in told["records"])})


def _spelled(at: Position) -> Sequence[Any]:
    return [at.next_offset, at.leader_epoch, [list(one) for one in at.epochs], int(at.confirmed)]


def _position(told: Sequence[Any]) -> Position:
    next_offset, leader_epoch, epochs, *confirmed = told
    if not confirmed:
        ends = [*(first for _, first in epochs[1:]), next_offset]
        epochs = [(epoch, first, end) for (epoch, first), end in zip(epochs, ends, strict=False)]
    return Position(
        next_offset=next_offset,
        leader_epoch=leader_epoch,
        epochs=tuple(EpochRange(*one) for one in epochs),
        confirmed=any(confirmed),
    )
