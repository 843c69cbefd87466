"""Settings in, published snapshots out, one per cluster: gathering, publishing, and the final line of each.

Guards one rule: clusters do not depend on each other. What one of them refuses is said, and the others are captured.
"""

from functools import cached_property

from pipeline import log
from pipeline.cli.arguments import SnapshotArguments
from pipeline.cli.summary import snapshot_line
from pipeline.cli.terminal import COMPLETE, INCOMPLETE, Steps, one_by_one, say
from pipeline.client.cluster import Cluster
from pipeline.client.deadline import Clock, Deadline
from pipeline.client.journal import Journal
from pipeline.errors import SnapshotIncomplete
from pipeline.kafka_settings import KafkaSettings
from pipeline.snapshot.collect import STEPS, collect
from pipeline.snapshot.rows import Snapshot
from pipeline.tables.publish import publish, published, turn
from pipeline.tables.session import session
from pipeline.tables.warehouse import Warehouse, open_warehouse


def take_snapshots(arguments: SnapshotArguments, clock: Clock) -> int:
    """Capture every cluster of the settings; the exit code of the worst."""
    run = _Run(arguments, clock)
    return one_by_one(arguments.settings.named_clusters().items(), lambda named: run.capture(*named))


class _Run:
    """One run of the job; the Spark session and the warehouse are opened once, when the first cluster answers."""

    def __init__(self, arguments: SnapshotArguments, clock: Clock) -> None:
        self._settings, self._slot_ms, self._clock = arguments.settings, arguments.slot_ms, clock

    @cached_property
    def _warehouse(self) -> Warehouse:
        return open_warehouse(session("lagoon snapshot"), self._settings, self._clock)

    def capture(self, name: str, kafka: KafkaSettings) -> int:
        """Capture one cluster; its exit code.

        A cluster that does not answer is known before Spark is started, a slot that is published before more is asked.
        """
        started = self._clock.monotonic()
        limits = self._settings.snapshot
        with (
            Cluster.connect(kafka, self._clock, Journal(), Deadline.after(self._clock, limits.deadline_ms)) as cluster,
            turn(self._warehouse, name, self._clock, limits.lock_wait_ms) as mine,
        ):
            earlier = published(mine, self._slot_ms)
            if earlier:
                say(f"{name}: the slot is published as snapshot {earlier.snapshot_id}; nothing to do")
                return COMPLETE
            with Steps(name, STEPS) as steps:
                deadline = Deadline.after(self._clock, limits.deadline_ms)
                snapshot = collect(cluster, name, self._slot_ms, deadline, steps.tell)
            publish(mine, snapshot)
        return self._conclude(snapshot, self._clock.monotonic() - started)

    def _conclude(self, snapshot: Snapshot, seconds: float) -> int:
        say(snapshot_line(snapshot, self._settings.place(), seconds))
        failures = snapshot.published.failures
        log.info("published", snapshot_id=snapshot.header.snapshot_id, failures=failures, seconds=round(seconds, 3))
        if failures and self._settings.snapshot.fail_when_incomplete:
            raise SnapshotIncomplete(failures)
        return INCOMPLETE if failures else COMPLETE
