"""Takes the lock on a cluster's archive, makes the commits that the last run left pending, and reads where to start."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date

from kafka_lagoon.clock import Clock
from kafka_lagoon.delta.kernel import Fence
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.fetch.archived import Archived
from kafka_lagoon.frozen import frozen
from kafka_lagoon.ingest.after_restore import go_back, offsets_to_repeat
from kafka_lagoon.ingest.examined_commits import are_worth_storing, commits_of, examine, notes_of
from kafka_lagoon.ingest.next_offsets import NextOffsets, app_id, domain, from_json, with_examined
from kafka_lagoon.ingest.pending_commits import (
    commit_pending,
    last_problems_run,
    refuse_older_records,
    refuse_replaced_tables,
)
from kafka_lagoon.ingest.pending_files import PendingFiles, Report
from kafka_lagoon.tables.record_tables import RECORD_PROBLEMS, RECORD_RANGES, RECORDS

_ACCOUNTS = (RECORD_RANGES, RECORD_PROBLEMS)


@frozen
class ArchiveLock:
    """The lock on one cluster's archive, and the state of the archive under it; `topics` has the offsets to start from.

    `reports` are those of earlier runs that died before they could print them, by URL of the file that keeps each. The holder
    prints them and its own losses, and then calls `remove_reports` before the lock is released. `versions` has the version of
    each table up to which the commits of others were examined, and `notes` are messages about these. `next_offsets` are those
    to start from, with these versions. `is_unstored` is true if a run that archives nothing has to store them, too.
    `stored_topics` are those of the stored next offsets, from which a run may go back to earlier ones; None where none does.
    `problems_run` is the number of the last run whose rows record_problems has.
    """

    warehouse: Warehouse
    cluster_id: str
    clock: Clock
    topics: Mapping[str, Archived]
    fence: Fence
    root: str  # URL of the folder in which data files are written
    pending: PendingFiles
    reports: Mapping[str, Report]
    versions: Mapping[str, int]
    notes: Sequence[str] = ()
    problems_run: int = 0
    next_offsets: NextOffsets | None = None
    stored_topics: Mapping[str, Archived] | None = None
    is_unstored: bool = False

    def unstored(self, topics: Mapping[str, Archived]) -> NextOffsets | None:
        """The next offsets that a run which archives nothing has to store; None if it has nothing to store.

        They have the versions that the run examined, and the new topics of its plan. No partition of these has answered, and
        the next run must not start them later than this one would have.
        """
        new = {name: topic for name, topic in topics.items() if name not in self.topics}
        if self.next_offsets is None or not (self.is_unstored or new):
            return None
        return replace(self.next_offsets, topics={**self.next_offsets.topics, **new})

    def folder(self, day: date) -> str:
        """URL of the folder for data files of a day."""
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

    LockHeld if another run holds it for longer than `wait_ms` milliseconds; TableError if a table cannot be appended to, or if
    one was restored to an older version, or lost rows otherwise, and `after_restore` (see `offsets_to_repeat`) does not say how
    to go on.
    """
    with warehouse.exclusively(f"records-{cluster_id}", clock, wait_ms):
        state = warehouse.state(RECORDS.name)
        # Otherwise the append would be refused after everything was read from Kafka.
        warehouse.kernel.refuse_unwritable(state, {domain(cluster_id): ""})
        for table in _ACCOUNTS:
            warehouse.kernel.refuse_unwritable(warehouse.base(table.name))
        stored = from_json(warehouse.kernel.domain(state, domain(cluster_id)))
        problems_run = last_problems_run(warehouse, cluster_id)
        refuse_replaced_tables(warehouse, cluster_id, stored, problems_run, after_restore)
        last_run = stored.last_run
        refuse_older_records(warehouse, cluster_id, last_run)
        commits = commits_of(warehouse, RECORDS, stored.examined_records, state.version) if last_run else []
        repeated = offsets_to_repeat(warehouse, cluster_id, state, stored, commits, after_restore)
        examined = examine(warehouse, cluster_id, _ACCOUNTS, stored, repeated, after_restore)
        if last_run:
            commit_pending(warehouse, cluster_id, stored, clock)
        if repeated:
            go_back(warehouse, cluster_id, stored, repeated, clock)
        versions = {RECORDS.name: state.version, **examined.versions}
        is_unstored = problems_run < (stored.problems_run or 0) or are_worth_storing(
            [*commits, *examined.commits], cluster_id, clock.now_ms()
        )
        if last_run and last_run.problems:
            problems_run = max(problems_run, last_run.sequence)
        pending = PendingFiles(storage=warehouse.kernel.storage, root=state.location, cluster_id=cluster_id)
        topics = (repeated or stored).topics
        yield ArchiveLock(
            warehouse=warehouse,
            cluster_id=cluster_id,
            clock=clock,
            topics=topics,
            fence=Fence(app_id(cluster_id), last_run.sequence + 1 if last_run else 1),
            root=state.location,
            pending=pending,
            reports=pending.reports(last_run),
            versions=versions,
            notes=[*notes_of(RECORDS, commits), *examined.notes],
            problems_run=problems_run,
            next_offsets=with_examined(replace(stored, topics=topics), versions, problems_run),
            stored_topics=stored.topics,
            is_unstored=last_run is not None and is_unstored,
        )
