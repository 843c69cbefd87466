"""Opens a warehouse in a local folder or in S3 for writing, for runs that need nothing of Spark."""

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
        log.info("session_needed", reason=str(error))
        return None
