"""Takes the lock on a cluster's archive, makes the commits that the last run left pending, and reads where to start."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date

from kafka_lagoon.clock import Clock
from kafka_lagoon.delta.kernel import Fence
from kafka_lagoon.delta.schema import RECORDS
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.fetch.plan import Archived
from kafka_lagoon.ingest.after_restore import topics_after_restore
from kafka_lagoon.ingest.next_offsets import domain, from_json
from kafka_lagoon.ingest.pending_commits import app_id, commit_pending, refuse_replaced_tables
from kafka_lagoon.ingest.pending_files import PendingFiles, Report


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveLock:
    """The lock on one cluster's archive; `topics` has the offsets to start from.

    `reports` has what earlier runs had to report and did not live to, by URL of the file that keeps it. The holder reports
    that and its own losses, and then calls `remove_reports` before the lock is released.
    """

    warehouse: Warehouse
    cluster_id: str
    clock: Clock
    topics: Mapping[str, Archived]
    fence: Fence
    root: str  # URL of the folder below which data files are written
    pending: PendingFiles
    reports: Mapping[str, Report]

    def folder(self, day: date) -> str:
        """URL of the folder of a day's data files."""
        return f"{self.root}/{RECORDS.partition_by}={day}"

    def remove_reports(self, ingest_id: str | None) -> None:
        """Remove `reports`, and the losses of this run if it has committed: all of them have been reported."""
        for url in self.reports:
            self.warehouse.kernel.storage.delete(url)
        if ingest_id:
            self.pending.remove_losses(self.fence.version, ingest_id)


@contextmanager
def archive_lock(
    warehouse: Warehouse, cluster_id: str, clock: Clock, wait_ms: int = 0, after_restore: str | None = None
) -> Iterator[ArchiveLock]:
    """Holds the lock on a cluster's archive, after the pending commits of the last run.

    LockHeld if another run holds it for longer than `wait_ms` milliseconds; TableError if table `records` was restored to
    an older version and `after_restore` (see `topics_after_restore`) does not say how to go on.
    """
    with warehouse.exclusively(f"records-{cluster_id}", clock, wait_ms):
        state = warehouse.state(RECORDS.name)
        stored = from_json(warehouse.kernel.domain(state, domain(cluster_id)))
        refuse_replaced_tables(warehouse, cluster_id, stored.last_run, after_restore)
        topics, sequence = stored.topics, 1
        if stored.last_run:
            commit_pending(warehouse, cluster_id, stored, clock)
            topics = topics_after_restore(warehouse, cluster_id, state, stored, clock, after_restore)
            sequence = stored.last_run.sequence + 1
        pending = PendingFiles(storage=warehouse.kernel.storage, root=state.location, cluster_id=cluster_id)
        yield ArchiveLock(
            warehouse=warehouse,
            cluster_id=cluster_id,
            clock=clock,
            topics=topics,
            fence=Fence(app_id(cluster_id), sequence),
            root=state.location,
            pending=pending,
            reports=pending.reports(stored.last_run),
        )
