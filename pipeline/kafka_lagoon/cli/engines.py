"""Chooses the engine that reads the tables: DuckDB for a folder of this machine, Spark for all other places."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager

from kafka_lagoon.cli.arguments import DUCKDB, SPARK
from kafka_lagoon.cli.terminal import warn
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.query import history
from kafka_lagoon.query.history import Windows
from kafka_lagoon.query.statements import Ask
from kafka_lagoon.query.window import Newest, Window
from kafka_lagoon.settings import Settings
from kafka_lagoon.warehouse_urls import local_folder


@contextmanager
def opened(
    settings: Settings, names: Iterable[str], engine: str | None = None, window: Window | Newest | None = None
) -> Iterator[Ask]:
    """Open these tables and views. The rows of a statement must be read before the next statement runs.

    DuckDB opens them, unless only Spark can read the tables or `engine` names Spark. With a `window`, rows of other snapshots
    may be missing, from views too: Spark leaves none out.
    """
    with ExitStack() as stack:
        yield _ask(stack, settings, set(names), engine, window)


@contextmanager
def opened_until(
    settings: Settings,
    names: Iterable[str],
    engine: str | None,
    windows: Windows,
    suffices: Callable[[Ask], bool],
) -> Iterator[Ask]:
    """Open these tables and views over the first of the windows that suffices; the last one is opened without that check."""
    relations = set(names)
    with history.opened_until(lambda window: opened(settings, relations, engine, window), windows, suffices) as ask:
        yield ask


def _ask(
    stack: ExitStack, settings: Settings, names: set[str], engine: str | None, window: Window | Newest | None
) -> Ask:
    folder = local_folder(settings.warehouse) if settings.warehouse else None
    if folder is None and engine == DUCKDB:
        raise ConfigError([f"--engine duckdb reads folders of this machine: {settings.place()} needs --engine spark"])
    if folder is not None and engine != SPARK:
        from kafka_lagoon.query import duckdb_engine  # noqa: PLC0415  Spark needs no DuckDB
        from kafka_lagoon.query.duckdb_tables import NeedsSpark  # noqa: PLC0415

        try:
            limits = duckdb_engine.Limits(**dict(settings.sql))
            return stack.enter_context(duckdb_engine.opened(folder, names, limits, window))
        except NeedsSpark as error:
            if engine == DUCKDB:
                raise
            warn(f"{error}: trying Spark")
    from kafka_lagoon.delta.session import session  # noqa: PLC0415
    from kafka_lagoon.delta.warehouse import find_warehouse  # noqa: PLC0415
    from kafka_lagoon.query import spark_engine  # noqa: PLC0415  DuckDB must not wait for Spark's imports

    return stack.enter_context(
        spark_engine.opened(find_warehouse(session("lagoon", settings.warehouse), settings), names)
    )
