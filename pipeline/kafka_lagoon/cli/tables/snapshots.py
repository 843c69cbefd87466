"""Chooses the published snapshot of each cluster that a command reads, and describes its age and completeness.

A cluster of the settings without a snapshot is described, too: nothing is known of it, which is no good news.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, date, datetime
from itertools import groupby
from operator import itemgetter
from typing import Any

from kafka_lagoon.cli.people import spelled_time
from kafka_lagoon.errors import TableError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.query.history import NEARBY, WHY_AHEAD, is_ahead, late_after_ms, usual_interval_ms
from kafka_lagoon.query.statements import Ask, tuples
from kafka_lagoon.text import counted, did_you_mean, duration

LAST = NEARBY + 1  # snapshots of each cluster, between which the usual interval is seen
COLUMNS = ("cluster", "snapshot_id", "snapshot_date", "captured_at", "slot", "status", "failures", "completeness")


@frozen
class ChosenSnapshot:
    """A published snapshot; `previous_at` is when the one before it began, None if there is none.

    `interval_ms` is the usual interval between the last snapshots.
    """

    cluster: str
    snapshot_id: str
    snapshot_date: date
    captured_at: datetime
    slot: datetime
    status: str
    failures: int
    completeness: float | None
    previous_at: datetime | None
    interval_ms: int | None

    def age_ms(self, now_ms: int) -> int:
        """Return the time since the snapshot was taken."""
        return now_ms - round(self.captured_at.timestamp() * 1000)

    def line(self, now_ms: int, as_of_ms: int) -> str:
        """Make a line for people: the snapshot, its age, and warnings.

        It may be in the future, may have been late at the time of --at, and may be incomplete.
        """
        age_ms = self.age_ms(now_ms)
        age = f"{duration(-age_ms)} AHEAD: {WHY_AHEAD}" if is_ahead(age_ms) else f"{duration(age_ms)} old"
        parts = [f"{self.cluster}: snapshot of {spelled_time(self.captured_at)}", age]
        if late := self._late(age_ms, self.age_ms(as_of_ms)):
            parts.append(f"LATE: {late}")
        if self.is_partial:
            parts.append(f"INCOMPLETE: {counted(self.failures, 'failure')}, see table collection_failures")
        return ", ".join(parts)

    def _late(self, age_ms: int, age_then_ms: int) -> str:
        """Say that the snapshot is late now, or that it was when it had an earlier age; empty if not."""
        is_now = age_then_ms == age_ms
        if age_then_ms <= late_after_ms(self.interval_ms):
            return ""
        alone = "it is the only one" if is_now else "it is the first"
        others = alone if self.interval_ms is None else f"snapshots were usually {duration(self.interval_ms)} apart"
        if is_now:
            return f"{others}, and none has followed"
        return f"{duration(age_then_ms)} old at the time of --at, {others}, and none had followed"

    @property
    def is_partial(self) -> bool:
        """Return True if requests of the snapshot failed."""
        return self.status != "complete"


@frozen
class MissingSnapshot:
    """A cluster of the settings without a published snapshot: scripts get a row with null for what is not known."""

    cluster: str
    snapshot_id: None = None
    snapshot_date: None = None
    captured_at: None = None
    slot: None = None
    status: str
    failures: None = None
    completeness: None = None

    def line(self) -> str:
        """Make a line for people."""
        return f"{self.cluster}: {self.status}"


def choose_snapshots(
    ask: Ask, clusters: Sequence[str] | None, latest: datetime | None, configured: Collection[str] = ()
) -> tuple[list[ChosenSnapshot], list[MissingSnapshot]]:
    """Choose the newest snapshot of each cluster, or the `latest` that had begun at a time; name `configured` clusters without.

    TableError if a cluster is in neither, or if there is no cluster at all.
    """
    began = "true" if latest is None else f"captured_at <= {time_literal(latest)}"
    rows = ask(
        f"""
        SELECT {", ".join(COLUMNS)} FROM (
          SELECT {", ".join(COLUMNS)},
            row_number() OVER (PARTITION BY cluster ORDER BY captured_at DESC, snapshot_id DESC) AS recency
          FROM snapshots WHERE {began}
        ) AS ranked WHERE recency <= {LAST} ORDER BY cluster, recency
        """  # noqa: S608  names of ours
    )
    of_cluster = groupby((dict(zip(COLUMNS, values, strict=True)) for values in tuples(rows)), itemgetter("cluster"))
    known = [_chosen(list(newest_first)) for _, newest_first in of_cluster]
    chosen = [one for one in known if clusters is None or one.cluster in clusters]
    missing = sorted(set(configured if clusters is None else clusters) - {one.cluster for one in chosen})
    unknown = [name for name in missing if name not in configured]
    if unknown or not (chosen or missing):
        raise TableError(_nothing(unknown, [one.cluster for one in known], latest))
    status = "no snapshot yet" if latest is None else f"no snapshot from before {spelled_time(latest)}"
    return chosen, [MissingSnapshot(cluster=name, status=status) for name in missing]


def _chosen(newest_first: Sequence[Mapping[str, Any]]) -> ChosenSnapshot:
    began = [row["captured_at"] for row in newest_first]
    interval_ms = usual_interval_ms([round(at.timestamp() * 1000) for at in reversed(began)])
    return ChosenSnapshot(**newest_first[0], previous_at=began[1] if began[1:] else None, interval_ms=interval_ms)


def _nothing(missing: Sequence[str], known: Sequence[str], latest: datetime | None) -> str:
    since = "" if latest is None else f" from before {spelled_time(latest)}"
    if not missing:
        return f"there is no published snapshot{since}"
    others = f": there are {', '.join(known)}" if known else ""
    return f"there is no published snapshot of {missing[0]}{did_you_mean(missing[0], known)}{since}{others}"


def time_literal(time: datetime) -> str:
    """Spell a time as SQL that both engines read."""
    return f"CAST('{time.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='milliseconds')}Z' AS TIMESTAMP)"
