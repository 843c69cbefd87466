"""Runs `lagoon snapshot`: collects, publishes and reports one snapshot per cluster.

Clusters do not depend on each other: if one fails, the others are captured.
"""

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cached_property

from kafka_lagoon.cli.arguments import SnapshotArguments, snapshot_arguments
from kafka_lagoon.cli.outcome import PARTIAL, SNAPSHOT, Outcome, one_by_one
from kafka_lagoon.cli.summary import snapshot_line
from kafka_lagoon.cli.terminal import COMPLETE, INCOMPLETE, Steps, log_to, reported, say
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.clock import SYSTEM_CLOCK, Clock, Deadline
from kafka_lagoon.delta.publish import PublishedSlot, publish, published, snapshot_lock
from kafka_lagoon.delta.session import session
from kafka_lagoon.delta.warehouse import Warehouse, open_warehouse
from kafka_lagoon.errors import SnapshotIncomplete
from kafka_lagoon.snapshot.collect import STEPS, collect
from kafka_lagoon.snapshot.state_rows import ConsumerLagRow, Snapshot
from kafka_lagoon.snapshot.tables import skipped_tables


def main(argv: Sequence[str]) -> int:
    """The exit code of `lagoon snapshot` and jobs/snapshot.py with these arguments."""
    return reported(lambda: take_snapshots(snapshot_arguments(argv, os.environ, SYSTEM_CLOCK), SYSTEM_CLOCK))


def take_snapshots(arguments: SnapshotArguments, clock: Clock) -> int:
    """Capture every cluster of the settings; the exit code of the worst."""
    log_to(arguments.log_file)
    run = _Run(arguments, clock)
    slot = datetime.fromtimestamp(arguments.slot_ms / 1000, UTC).isoformat(timespec="milliseconds")
    outcomes = [Outcome(job=SNAPSHOT, cluster=name, slot=slot) for name in arguments.settings.named_clusters()]
    return one_by_one(outcomes, clock, run.capture)


class _Run:
    """One run of the job; the Spark session and the warehouse are opened once, when the first cluster answers."""

    def __init__(self, arguments: SnapshotArguments, clock: Clock) -> None:
        self._settings, self._slot_ms, self._clock = arguments.settings, arguments.slot_ms, clock
        self._skipped = skipped_tables(arguments.settings.snapshot.skip_tables)

    @cached_property
    def _warehouse(self) -> Warehouse:
        return open_warehouse(session("lagoon snapshot"), self._settings, self._clock)

    def capture(self, outcome: Outcome) -> int:
        """Capture one cluster; its exit code.

        A cluster that does not answer is known before Spark is started, a slot that is published before more is asked.
        """
        started = self._clock.monotonic()
        limits, name = self._settings.snapshot, str(outcome.cluster)
        kafka = self._settings.named_clusters()[name]
        connecting = Deadline.after(self._clock, limits.deadline_ms)
        with Cluster.connect(kafka, self._clock, outcome.request_stats, connecting) as cluster:
            outcome.cluster_id = cluster.cluster_id
            with snapshot_lock(self._warehouse, name, self._clock, limits.lock_wait_ms) as lock:
                earlier = published(lock, self._slot_ms)
                if earlier:
                    return self._conclude_repeated(outcome, earlier)
                with Steps(name, STEPS) as steps:
                    deadline = Deadline.after(self._clock, limits.deadline_ms)
                    snapshot = collect(cluster, name, self._slot_ms, deadline, steps.tell, self._skipped)
                publish(lock, snapshot)
        say(snapshot_line(snapshot, self._settings.place(), self._clock.monotonic() - started))
        return self._conclude(outcome, snapshot)

    def _conclude_repeated(self, outcome: Outcome, earlier: PublishedSlot) -> int:
        """A repeated slot ends as the run that published it: a retry must not make a partial snapshot look complete."""
        outcome.snapshot_id, outcome.already_published = earlier.snapshot_id, True
        outcome.status, outcome.failures = earlier.status, earlier.failures
        missing = (
            f"; INCOMPLETE: {earlier.failures:,} failures, see table collection_failures"
            if earlier.status == PARTIAL
            else ""
        )
        say(f"{outcome.cluster}: the slot is published as snapshot {earlier.snapshot_id}; nothing to do{missing}")
        return self._exit_code(earlier.status, earlier.failures)

    def _conclude(self, outcome: Outcome, snapshot: Snapshot) -> int:
        row = snapshot.published
        outcome.snapshot_id, outcome.already_published = snapshot.header.snapshot_id, False
        outcome.status, outcome.failures = row.status, row.failures
        outcome.brokers, outcome.topics = row.brokers, row.topics
        outcome.partitions, outcome.groups = row.partitions, row.groups
        known = ((one.lag, one) for one in snapshot.of(ConsumerLagRow) if one.lag is not None)
        lag, at = max(known, key=lambda pair: pair[0], default=(None, None))
        if at:
            outcome.worst_lag, outcome.worst_lag_group = lag, at.group_id
            outcome.worst_lag_topic, outcome.worst_lag_partition = at.topic, at.partition
        return self._exit_code(row.status, row.failures)

    def _exit_code(self, status: str, failures: int) -> int:
        """What the settings make of a snapshot's status; SnapshotIncomplete if they call a partial one a failure."""
        limits = self._settings.snapshot
        if status != PARTIAL or limits.accept_incomplete:
            return COMPLETE
        if limits.fail_when_incomplete:
            raise SnapshotIncomplete(failures)
        return INCOMPLETE
