"""Chooses the engine that reads the tables: DuckDB for a folder of this machine, Spark for all other places."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager

from kafka_lagoon.cli.arguments import DUCKDB, SPARK
from kafka_lagoon.cli.terminal import warn
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.query.statements import Ask, Open
from kafka_lagoon.query.window import Newest, Window
from kafka_lagoon.settings import Settings
from kafka_lagoon.warehouse_urls import local_folder


@contextmanager
def opened(
    settings: Settings, names: Iterable[str], engine: str | None = None, window: Window | Newest | None = None
) -> Iterator[Ask]:
    """Open these tables and views. The rows of a statement must be read before the next statement runs.

    DuckDB opens them, unless only Spark can read the tables or `engine` names Spark. With a `window`, rows of other snapshots
    may be missing, from views too: Spark leaves none out in a catalog.
    """
    with connected(settings, engine) as open_tables:
        yield open_tables(names, window)


@contextmanager
def connected(settings: Settings, engine: str | None = None) -> Iterator[Open]:
    """Yield a function that opens tables and views as `opened` does; each call replaces those of the call before."""
    with ExitStack() as stack:
        in_duckdb = _duckdb(stack, settings, engine)

        def open_tables(names: Iterable[str], window: Window | Newest | None) -> Ask:
            relations = set(names)
            if in_duckdb is None:
                return _in_spark(stack, settings, relations, window)
            from kafka_lagoon.query.duckdb_tables import NeedsSpark  # noqa: PLC0415  Spark needs no DuckDB

            try:
                return in_duckdb(relations, window)
            except NeedsSpark as error:
                if engine == DUCKDB:
                    raise
                warn(f"{error}: trying Spark")
                return _in_spark(stack, settings, relations, window)

        yield open_tables


def _duckdb(stack: ExitStack, settings: Settings, engine: str | None) -> Open | None:
    """The function that opens tables in DuckDB; None to use Spark. ConfigError if --engine duckdb cannot read the warehouse."""
    folder = local_folder(settings.warehouse) if settings.warehouse else None
    if folder is None and engine == DUCKDB:
        raise ConfigError([f"--engine duckdb reads folders of this machine: {settings.place()} needs --engine spark"])
    if folder is None or engine == SPARK:
        return None
    from kafka_lagoon.query import duckdb_engine  # noqa: PLC0415  Spark needs no DuckDB

    return stack.enter_context(duckdb_engine.connected(folder, duckdb_engine.Limits(**dict(settings.sql))))


def _in_spark(stack: ExitStack, settings: Settings, names: set[str], window: Window | Newest | None) -> Ask:
    from kafka_lagoon.delta.open_warehouse import find_warehouse  # noqa: PLC0415
    from kafka_lagoon.delta.session import session  # noqa: PLC0415
    from kafka_lagoon.query import spark_engine  # noqa: PLC0415  DuckDB must not wait for Spark's imports

    spark = session("lagoon", settings.warehouse)
    stack.enter_context(spark_engine.without_traces(spark))
    return stack.enter_context(spark_engine.opened(find_warehouse(spark, settings), names, window))
