"""Opens a warehouse in a local folder or in S3 for writing, for runs that need nothing of Spark."""

import sys
from collections.abc import Sequence
from contextlib import ExitStack

from kafka_lagoon import log
from kafka_lagoon.clock import Clock
from kafka_lagoon.delta.jvm_start import StartingJvm
from kafka_lagoon.delta.open_warehouse import open_alone
from kafka_lagoon.delta.plain_jvm import plain_kernel
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import NeedsSession
from kafka_lagoon.settings import Settings
from kafka_lagoon.tables.table import Table
from kafka_lagoon.text import printable
from kafka_lagoon.warehouse_settings import opens_without_session


def without_session(
    stack: ExitStack, settings: Settings, clock: Clock, tables: Sequence[Table], starting: StartingJvm | None = None
) -> Warehouse | None:
    """Open the warehouse of the settings for writing to these tables until `stack` is closed; None if a session must open it.

    The JVM is the one that is `starting`, if there is one. Errors are those of `open_warehouse`.
    """
    if not settings.warehouse or not opens_without_session(settings):
        return None
    try:
        # A JVM that cannot open the warehouse ends at once: it is not needed beside that of the session.
        with ExitStack() as opening:
            kernel = opening.enter_context(plain_kernel(settings.warehouse, starting))
            warehouse = open_alone(kernel, settings, tables, clock)
            stack.push(opening.pop_all())
            return warehouse
    except NeedsSession as error:
        _say(str(error))
        return None


def _say(reason: str) -> None:
    """Show at a terminal why it takes time; log collectors get an event."""
    log.info("session_needed", reason=reason)
    if sys.stderr.isatty():
        line = f"lagoon: starting Spark, which may take a minute: {printable(reason)}"
        print(line, file=sys.stderr, flush=True)  # noqa: T201  commands are above this layer
