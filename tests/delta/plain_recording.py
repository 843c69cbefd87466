"""Writes rows of admin_actions in a process of its own, in which no session of Spark runs.

    python -m tests.delta.plain_recording FOLDER MILLISECONDS

It prints the session of the warehouse, which is None.
"""

import sys

from kafka_lagoon.delta.admin_actions import recording, warehouse_for_actions
from tests.clock import CLOCK
from tests.delta.action_samples import finished, started
from tests.warehouses import settings


def main(folder: str, at_ms: str) -> None:
    """Run as the module's docstring describes."""
    with warehouse_for_actions(settings(f"warehouse={folder}"), CLOCK, "admin") as warehouse:
        print(warehouse.session)
        with recording(warehouse, "id", CLOCK) as recorder:
            recorder.write(started(int(at_ms)))
            recorder.write(finished(int(at_ms) + 5))
        warehouse.kernel.checkpoint(warehouse.locations["admin_actions"])
        assert len(warehouse.kernel.live_files(warehouse.state("admin_actions"))) == 2  # read from the checkpoint


if __name__ == "__main__":
    main(*sys.argv[1:])
