"""Collects one snapshot of a cluster.

The inputs of lag are read first, in the order that `group_state.py` explains, and the metadata is read again after them. Then
the tables are made in the order of `COLLECTORS`. Nothing is created or changed on the cluster.
"""

from collections.abc import Mapping, Sequence

from kafka_lagoon.admin.cluster import identify
from kafka_lagoon.admin.reassignments import list_reassignments
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.clock import Deadline
from kafka_lagoon.garbage import gc_paused
from kafka_lagoon.owners import NOBODY, Owners
from kafka_lagoon.snapshot.chosen_names import EVERYTHING, ChosenNames
from kafka_lagoon.snapshot.collection import Collection, Collector, Phase
from kafka_lagoon.snapshot.collectors import COLLECTORS, CONSUMER_LAG, COVERAGE
from kafka_lagoon.snapshot.coverage import worth_a_row
from kafka_lagoon.snapshot.group_state import Tell, read_groups
from kafka_lagoon.snapshot.min_isr import read_durability
from kafka_lagoon.snapshot.time_lag import Measure
from kafka_lagoon.snapshot.topology import check_again, read_topology
from kafka_lagoon.tables.snapshot_rows import Snapshot, SnapshotHeader
from kafka_lagoon.tables.table_states import StoredTable
from kafka_lagoon.uuid7 import new_id

STEPS = (
    *("cluster", "end offsets", "groups", "committed offsets", "end offsets again", "topics again", "health"),
    "time lag",
    *(table.name for table in COLLECTORS if table.phase is Phase.DETAILS),
)


@gc_paused()
def collect(  # noqa: PLR0913  each is a decision of its caller's
    cluster: Cluster,
    name: str,
    slot_ms: int,
    deadline: Deadline,
    tell: Tell,
    skipped: Sequence[Collector] = (),
    measure: Measure | None = None,
    stored: Mapping[str, StoredTable] | None = None,
    chosen: ChosenNames = EVERYTHING,
    owners: Owners = NOBODY,
) -> Snapshot:
    """One snapshot of `cluster`, called `name` in the tables, for the scheduler's time `slot_ms` (epoch milliseconds).

    Topics and groups that are not `chosen` are left out, which coverage says. `measure` finds first unread records for the
    time lag. What did not change since a snapshot of the day has `stored` it is not stored again. Raises when no broker
    describes the topics at all; whatever else fails is a row of the snapshot.
    """
    collection = _gather_lag(cluster, slot_ms, deadline, tell, chosen)
    collection.skipped, collection.measure, collection.stored = skipped, measure, stored or {}
    collection.owners = owners
    for table in COLLECTORS:
        if table is CONSUMER_LAG:
            tell("time lag", len(collection.group_state.commits.rows))
        if table.phase is Phase.DETAILS:
            tell(table.name, 1)
        if table is COVERAGE:
            collection.refuse(cluster.refusals)
        collection.add(table)
    header = SnapshotHeader(
        snapshot_id=collection.snapshot_id,
        cluster=name,
        cluster_id=collection.topology.metadata.cluster_id,
        captured_at_ms=collection.started_at_ms,
    )
    return Snapshot(header=header, rows=collection.rows)


def _gather_lag(cluster: Cluster, slot_ms: int, deadline: Deadline, tell: Tell, chosen: ChosenNames) -> Collection:
    """Read what the tables of the first phase are made of."""
    started_at_ms = cluster.clock.now_ms()
    tell("cluster", len(cluster.brokers))
    identity = identify(cluster, deadline)
    topology = read_topology(cluster, None, deadline, chosen.topics)
    only = None if chosen.groups.are_all else chosen.groups
    group_state = read_groups(cluster, topology, deadline, tell, only=only)
    tell("topics again", len(topology.partitions))
    topology, unchecked = check_again(cluster, topology, deadline)
    # Right after the metadata: if a move ended between both, the replica that it added would look out of sync.
    reassignments = list_reassignments(cluster, deadline)
    tell("health", len(topology.partitions))
    durability, unread = read_durability(cluster, list(topology.partitions), deadline)
    failures = [*identity.failures, *group_state.failures, *unchecked, *unread]
    return Collection(
        cluster=cluster,
        chosen=chosen,
        snapshot_id=new_id(started_at_ms),
        deadline=deadline,
        slot_ms=slot_ms,
        started_at_ms=started_at_ms,
        identity=identity,
        topology=topology,
        group_state=group_state,
        durability=durability,
        reassignments=reassignments,
        failures=failures,
        is_partial=any(worth_a_row(failures, topology, cluster.request_stats)),
    )
