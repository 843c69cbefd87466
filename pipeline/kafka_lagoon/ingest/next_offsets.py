"""Stores the offsets that the next run starts from, and the last run, as JSON in the log of table `records`.

They are committed together with the records, in one version of the table (as Delta's domain metadata), so neither can exist
without the other.
"""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import astuple, field, replace
from typing import Any

from kafka_lagoon.delta.stored_json import MALFORMED, reading
from kafka_lagoon.errors import TableError
from kafka_lagoon.fetch.archived import Archived
from kafka_lagoon.fetch.leader_epochs import EpochRange
from kafka_lagoon.fetch.offset_specs import AtOffset, AtTime, BeforeEnd, Earliest, Latest, OffsetSpec
from kafka_lagoon.fetch.ranges import Position
from kafka_lagoon.frozen import frozen
from kafka_lagoon.garbage import gc_paused
from kafka_lagoon.tables.record_tables import RECORDS

# In format 1 an epoch has its first offset only, next offsets are never confirmed, and rows to be added lie beside the data
# files of their tables. Formats 1 and 2 have no offsets of ids that topics had before.
_FORMAT, _KNOWN_FORMATS = 3, (1, 2, 3)
_STARTS: Mapping[str, type[OffsetSpec]] = {
    "earliest": Earliest,
    "latest": Latest,
    "offset": AtOffset,
    "time": AtTime,
    "before_end": BeforeEnd,
}


@frozen
class PendingFile:
    """A file that is written and not committed; `name` is its path in the folder of table `records` or the staging folder.

    In format 1 it is the path in the folder of the table that it is to be added to.
    """

    name: str
    size: int
    rows: int
    modified_at_ms: int

    def __post_init__(self) -> None:
        """Raise TableError for a name that leads out of its folder: such a file would be read, and removed."""
        if self.name.startswith("/") or ".." in self.name.split("/"):
            raise TableError(f"table records names a pending file outside of its folder: {self.name}")


@frozen
class LastRun:
    """The last run that committed records: its number, the version it built on, and the commits that follow it.

    `base_version` is the version that was read when the run took its lock: what others have committed since then was not known.
    """

    ingest_id: str
    sequence: int
    ingest_date: str
    base_version: int
    ranges: PendingFile | None
    problems: PendingFile | None
    records: tuple[PendingFile, ...] = ()  # staged data files that Spark writes into the table


@frozen
class NextOffsets:
    """The archive of one cluster: the next offset of each partition, by topic, and the run that committed them.

    `examined` has the versions of record_ranges and record_problems up to which that run examined the commits of others. A
    later run without new records may have stored later versions, and then also that of `records`. `problems_run` is the number
    of the last run whose rows record_problems had when that run began; 0 if it had none, None in the log of earlier releases.
    """

    topics: Mapping[str, Archived] = field(default_factory=dict)
    last_run: LastRun | None = None
    examined: Mapping[str, int] = field(default_factory=dict)
    problems_run: int | None = None

    @property
    def examined_records(self) -> int:
        """The version of `records` up to which the commits of others were examined; 0 before the first run."""
        base_version = self.last_run.base_version if self.last_run else 0
        return self.examined.get(RECORDS.name, base_version)


def domain(cluster_id: str) -> str:
    """The name of a cluster's domain metadata in the log of table `records`."""
    return f"lagoon.next_offsets.{cluster_id}"


def app_id(cluster_id: str) -> str:
    """The application id of a cluster's runs in the tables' transaction ids."""
    return f"lagoon/records/{cluster_id}"


def with_examined(offsets: NextOffsets, versions: Mapping[str, int], problems_run: int) -> NextOffsets:
    """The next offsets after a run that examined commits and archived nothing; unchanged before the first run."""
    return replace(offsets, examined=versions, problems_run=problems_run) if offsets.last_run else offsets


def to_json(offsets: NextOffsets) -> str:
    """The stored form of next offsets."""
    run = None if offsets.last_run is None else dataclasses.asdict(offsets.last_run)
    with gc_paused():  # otherwise three times as long for 100,000 partitions
        # Topic by topic: the lists and strings of a million partitions would take 300 MB.
        topics = {name: _compact(_spelled(topic)) for name, topic in sorted(offsets.topics.items())}
    stored = {"format": _compact(_FORMAT), "run": _compact(run), "topics": _object(topics)}
    more = {"examined": dict(offsets.examined), "problems_run": offsets.problems_run}
    return _object({**stored, **{name: _compact(value) for name, value in more.items() if value is not None}})


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _object(values: Mapping[str, str]) -> str:
    """A JSON object of values that are JSON."""
    return "{" + ",".join(f"{json.dumps(name)}:{value}" for name, value in values.items()) + "}"


def from_json(text: str | None) -> NextOffsets:
    """Stored next offsets; empty if there are none. TableError for a newer format, and for what is none."""
    if text is None:
        return NextOffsets()
    with gc_paused(), reading("the next offsets in the log of table records"):
        return _offsets(json.loads(text, object_hook=_topic_at_once))


def _topic_at_once(stored: dict[str, Any]) -> Any:
    """An archived topic as soon as it is read: all lists of a million partitions together would take 200 MB.

    Topics may be named `id` and `partitions`, and then the object of all topics has these keys, too.
    """
    try:
        return _archived(stored) if isinstance(stored.get("partitions"), dict) else stored
    except MALFORMED:  # of a newer format, or damaged, which _offsets tells
        return stored


def _offsets(stored: dict[str, Any]) -> NextOffsets:
    if stored["format"] not in _KNOWN_FORMATS:
        raise TableError(
            f"table records was written by a newer Kafka Lagoon (format {stored['format']} of next offsets)"
        )
    topics = stored["topics"]
    return NextOffsets(
        topics={name: one if isinstance(one, Archived) else _archived(one) for name, one in topics.items()},
        last_run=_last_run(stored["run"]),
        examined=stored.get("examined", {}),
        problems_run=stored.get("problems_run"),
    )


def _archived(stored: Mapping[str, Any]) -> Archived:
    return Archived(
        topic_id=stored["id"],
        partitions=_positions(stored["partitions"]),
        former={topic_id: _positions(partitions) for topic_id, partitions in stored.get("former", {}).items()},
        unstarted={
            int(number): _STARTS[name](*values) for number, (name, *values) in stored.get("unstarted", {}).items()
        },
    )


def _last_run(stored: dict[str, Any] | None) -> LastRun | None:
    if stored is None:
        return None
    files = {name: PendingFile(**stored[name]) if stored[name] else None for name in ("ranges", "problems")}
    return LastRun(**{**stored, **files, "records": tuple(PendingFile(**file) for file in stored["records"])})


def _spelled(topic: Archived) -> Mapping[str, Any]:
    former = {topic_id: _spelled_positions(positions) for topic_id, positions in sorted(topic.former.items())}
    unstarted = {str(number): [_name(start), *astuple(start)] for number, start in sorted(topic.unstarted.items())}
    spelled = {"id": topic.topic_id, "partitions": _spelled_positions(topic.partitions)}
    more = {"former": former, "unstarted": unstarted}
    return {**spelled, **{name: values for name, values in more.items() if values}}


def _name(start: OffsetSpec) -> str:
    return next(name for name, kind in _STARTS.items() if isinstance(start, kind))


def _spelled_positions(positions: Mapping[int, Position]) -> Mapping[str, Sequence[Any]]:
    return {
        str(number): [one.next_offset, one.leader_epoch, [list(epoch) for epoch in one.epochs], int(one.confirmed)]
        for number, one in sorted(positions.items())
    }


def _positions(stored: Mapping[str, Sequence[Any]]) -> dict[int, Position]:
    return {int(number): _position(position) for number, position in stored.items()}


def _position(stored: Sequence[Any]) -> Position:
    next_offset, leader_epoch, epochs, *confirmed = stored
    if not confirmed:
        ends = [*(first for _, first in epochs[1:]), next_offset]
        epochs = [(epoch, first, end) for (epoch, first), end in zip(epochs, ends, strict=False)]
    ranges = tuple(EpochRange(*epoch) for epoch in epochs)
    if len(ranges) == 1 and ranges[0].end_offset == next_offset:  # the same object of a million positions saves 32 MB
        ranges = (ranges[0]._replace(end_offset=next_offset),)
    return Position(next_offset=next_offset, leader_epoch=leader_epoch, epochs=ranges, confirmed=any(confirmed))
