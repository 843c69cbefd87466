"""Takes one snapshot of one cluster: connect, lock, collect, publish.

The lock is taken before the state is collected: otherwise another run could publish a newer state first.
"""

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Deadline
from kafka_lagoon.delta.publish import (
    PublishedSlot,
    publish,
    published,
    refuse_other_cluster,
    snapshot_lock,
    stored_tables,
)
from kafka_lagoon.delta.warehouse import COMMIT_LOCK_WAIT_MS
from kafka_lagoon.freed_memory import give_back_freed_memory
from kafka_lagoon.runs.context import Progress, RunContext
from kafka_lagoon.runs.time_lag import measure_of
from kafka_lagoon.snapshot.chosen_names import ChosenNames, Names
from kafka_lagoon.snapshot.collect import collect
from kafka_lagoon.snapshot.collectors import skipped_tables
from kafka_lagoon.tables.snapshot_rows import Snapshot


def take_snapshot(
    context: RunContext, name: str, slot_ms: int, request_stats: RequestStats, progress: Progress
) -> Snapshot | PublishedSlot:
    """Take a snapshot of the cluster called `name`, or return the one that an earlier run published for the slot.

    Raises PipelineError if the cluster does not answer, another run holds the lock, a table cannot be written, or the slot has
    the snapshot of another Kafka cluster that the settings give the same name.
    """
    give_back_freed_memory()
    limits, clock = context.settings.snapshot, context.clock
    skipped = skipped_tables(limits.skip_tables)
    chosen = ChosenNames(
        topics=Names.of(limits.topics, limits.exclude_topics), groups=Names.of(limits.groups, limits.exclude_groups)
    )
    kafka = context.settings.named_clusters()[name]
    with Cluster.connect(kafka, clock, request_stats, Deadline.after(clock, limits.deadline_ms)) as cluster:
        progress.connected(cluster.cluster_id)
        with snapshot_lock(context.warehouse, name, clock, limits.lock_wait_ms) as lock:
            earlier = published(lock, slot_ms)
            if earlier:
                refuse_other_cluster(lock, earlier, cluster.cluster_id)
                return earlier
            deadline = Deadline.after(clock, limits.deadline_ms)
            stored = stored_tables(lock, clock.now_ms())
            measure = measure_of(limits, cluster, name, context.warehouse, deadline)
            snapshot = collect(
                cluster,
                name,
                slot_ms,
                deadline,
                progress.step,
                skipped,
                measure,
                stored,
                chosen,
                context.settings.all_owners(),
            )
            publish(lock, snapshot, max(COMMIT_LOCK_WAIT_MS, round(deadline.remaining() * 1000)))
    return snapshot
