"""Another run, as a process of its own: takes the lock of a cluster, publishes when a line arrives, or dies at a given step.

    python -m tests.delta.other_run LOCATION NUMBER [METHOD COUNT before|after]

It prints `locked`, waits for a line on stdin, publishes attempt NUMBER for the slot of attempt 1, and prints the outcome.
With METHOD it kills itself (SIGKILL) before or after the COUNT-th call of that method of `Storage` or `Kernel`. Where
PYSPARK_GATEWAY_PORT is set it uses the JVM of the tests, so that it starts at once; else it has a JVM of its own.
"""

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from pyspark.java_gateway import launch_gateway

from kafka_lagoon.delta import kernel
from kafka_lagoon.delta.kernel import Kernel
from kafka_lagoon.delta.publish import publish, snapshot_lock
from kafka_lagoon.delta.storage import Storage
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import PipelineError
from kafka_lagoon.tables import cluster_rows, group_rows, snapshot_rows
from kafka_lagoon.tables.schema import TABLES
from tests.clock import CLOCK
from tests.delta.samples import NOON_MS, lag_row, row, snapshot


def facts() -> list[object]:
    """Make rows for several tables."""
    lag = [lag_row("group", "topic", partition, lag=partition) for partition in range(3)]
    group = row(group_rows.ConsumerGroupRow, group_id="group")
    return [row(cluster_rows.BrokerRow, broker_id=1), row(cluster_rows.TopicRow, topic="topic"), group, *lag]


def attempt(number: int) -> snapshot_rows.Snapshot:
    """Make attempt `number` for the slot of all attempts."""
    return snapshot(number, *facts(), slot_ms=NOON_MS, status="complete")


def die_at(cls: type, method: str, count: int, when: str) -> None:
    """Make this process end at the `count`-th call of a method, as `kill -9` ends it."""
    real: Callable[..., Any] = getattr(cls, method)
    calls = iter(range(count, 0, -1))

    def deadly(*args: Any, **kwargs: Any) -> Any:
        left = next(calls, 0)
        if left == 1 and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        result = real(*args, **kwargs)
        if left == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(cls, method, deadly)


def main(location: str, number: str, *death: str) -> None:
    """Run as the module's docstring describes."""
    if death:
        method, count, when = death
        die_at(Storage if hasattr(Storage, method) else Kernel, method, int(count), when)
    jvm = launch_gateway().jvm
    delta = kernel.in_jvm(jvm, jvm.org.apache.hadoop.conf.Configuration())
    locations = {table.name: f"{location}/{table.name}" for table in TABLES}
    warehouse = Warehouse(
        session=None, kernel=delta, name=location, in_catalog=False, identifiers={}, locations=locations
    )
    try:
        with snapshot_lock(warehouse, "default", CLOCK) as lock:
            print("locked", flush=True)
            sys.stdin.readline()
            publish(lock, attempt(int(number)))
            print("published", flush=True)
    except PipelineError as error:
        print(type(error).__name__, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
