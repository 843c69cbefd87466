"""Runs `lagoon restore`: reads arguments and settings, starts the JVM that opens the tables, and imports the rest meanwhile."""

from kafka_lagoon.cli.command import Command, Invocation
from kafka_lagoon.cli.jobs import JOB
from kafka_lagoon.cli.restore_arguments import declare, restore_arguments
from kafka_lagoon.delta.jvm_start import starting_jvm
from kafka_lagoon.garbage import gc_paused
from kafka_lagoon.settings import Settings
from kafka_lagoon.warehouse_settings import own_folder


def _without_session(settings: Settings) -> str | None:
    """Return the warehouse if the run opens it without a session of Spark, at least to plan.

    In S3 only Spark reads the state of topics from snapshots.
    """
    return settings.warehouse if own_folder(settings) is not None and settings.restore.local_max_bytes > 0 else None


def _restore(call: Invocation) -> int:
    arguments = restore_arguments(call.options, call.environ, call.clock)
    with starting_jvm(_without_session(arguments.settings)) as starting:
        with gc_paused():
            from kafka_lagoon.cli.restore_run import restore_all  # noqa: PLC0415  while the JVM starts

        return restore_all(arguments, call.clock, starting)


COMMAND = Command(
    kind=JOB,
    summary="Writes archived records back into a cluster, exactly once, with a receipt for each partition.",
    examples=(
        "lagoon restore --conf lagoon.toml --from-cluster prod --to-cluster spare --topics orders --dry-run",
        "lagoon restore --conf lagoon.toml --from-cluster prod --to-cluster spare --topics orders --with-offsets",
        "lagoon restore --conf lagoon.toml --from-cluster prod --to-cluster prod --topics orders --rename orders=orders-2",
    ),
    declare=declare,
    answer=_restore,
)
