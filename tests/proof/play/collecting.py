"""Collects the evidence of a history after its end."""

from collections.abc import Iterator, Sequence

from tests.proof.evidence import Evidence, Partition, Quiet, RestoredPartition, Row
from tests.proof.jobs import PASSWORD
from tests.proof.load import LiveTopic
from tests.proof.oracle import topic_id
from tests.proof.oracle_tables import ReadTables, occurrences
from tests.proof.play.altering import Altering
from tests.proof.play.runs import Runs
from tests.proof.play.sinking import Sinking
from tests.proof.play.tables import Tables
from tests.proof.play.topics import QUIET, QUIET_COMMIT, QUIET_PARTITIONS, QUIET_RECORDS, READERS, Topics
from tests.proof.play.world import World


class Collector:
    """Reads Kafka and the tables when nothing changes any more."""

    def __init__(
        self, world: World, topics: Topics, runs: Runs, changed: Tables, altering: Altering, sinking: Sinking
    ) -> None:
        self._world, self._topics, self._runs, self._changed = world, topics, runs, changed
        self._altering, self._sinking = altering, sinking

    def evidence(self, *, is_complete: bool) -> Evidence:
        """Collect everything; `is_complete` if the last runs ended with exit 0."""
        world, topics = self._world, list(self._topics.live.values())
        known, group, tables = world.known, f"{world.prefix}{READERS}", ReadTables(world.place.lake.fetched())
        in_log = world.reader.records(topics)
        quiet_id = self._topics.live[QUIET].topic_id
        known.committed.update({at: records for at, records in in_log.items() if at.topic_id == quiet_id})
        rows = tables.rows()
        compacted = self._topics.of_kind("compacted")
        removed = sum(
            offset not in in_log.get(partition, {})
            for partition, records in known.committed.items()
            for offset in records
            if partition.topic_id in compacted and partition.topic_id not in self._topics.deleted
        )
        world.happened["compactions"] += removed > 0
        evidence = Evidence(
            committed=known.committed,
            aborted=known.aborted,
            sent=known.sent,
            in_log=in_log,
            keys=world.reader.keys([topic for topic in topics if topic.topic_id in compacted]),
            log_starts=world.reader.starts(topics),
            deleted=self._topics.deleted,
            compacted=compacted,
            unclean=self._topics.of_kind("unclean"),
            rows=rows,
            archived=tables.archived(),
            ranges=tables.ranges(),
            in_order=self._changed.is_compacted or tables.is_in_order(),
            erased=self._changed.erased,
            archived_from=self._changed.archived_from,
            rollbacks=self._changed.rollbacks,
            ranges_since_ms=self._changed.ranges_since_ms,
            has_stepped=world.clocks.has_stepped,
            snapshots=tables.snapshots(),
            quiet=Quiet(partitions=QUIET_PARTITIONS, high_watermark=QUIET_RECORDS, committed_offset=QUIET_COMMIT),
            quiet_rows=tables.quiet_rows(f"{world.prefix}{QUIET}", group),
            differences=list(tables.differences(world.reader, topics, group)),
            restored=[*self._restorations(rows, tables)],
            sunk=tuple(self._sinking.sunk()),
            alterations=[*tables.alterations(), *self._altering.drifts],
            applied=world.reader.applied(self._altering.prefix),
            wanted=self._altering.wanted if is_complete else None,
            runs=world.jobs.runs,
            is_complete=is_complete,
            secrets=[*self._secrets()],
        )
        tables.close()
        return evidence

    def _restorations(self, rows: Sequence[Row], tables: ReadTables) -> Iterator[RestoredPartition]:
        """Read what restores have written."""
        reader = self._world.reader
        erased = {partition.topic_id for (_, partition), offsets in self._changed.erased.items() if offsets}
        for topic in self._runs.restored.values():
            if topic.topic_id in erased:
                continue  # the archive is not what the restore has read
            target = self._world.place.restored(topic.name)
            described = reader.describe([target])[target]
            id_, count = topic_id(described), len(described.partitions)
            written = reader.records([LiveTopic(name=target, kind="plain", topic_id=id_, partitions=count)])
            receipts = tables.receipts(target)
            for number in range(count):
                archived = sorted(
                    (row for row in rows if row.partition == (topic.topic_id, number)), key=lambda row: row.offset
                )
                yield RestoredPartition(
                    name=f"{target}-{number}",
                    archived=[row.digest for row in archived],
                    written=[digest for _, digest in sorted(written.get(Partition(id_, number), {}).items())],
                    receipts=receipts.get(number, []),
                )

    def _secrets(self) -> Iterator[str]:
        for number, run in enumerate(self._world.jobs.runs):
            if PASSWORD in run.output:
                yield f"output of run {number} ({run.job})"
        yield from occurrences(self._world.place.lake.folder, {"password": PASSWORD.encode()})
