"""Reads the desired state that a command line names: a file, or the folder or URL of a Delta table."""

from pathlib import Path

from kafka_lagoon.apply.desired.reading import desired_state, read_desired
from kafka_lagoon.apply.desired.state import DesiredState
from kafka_lagoon.apply.desired.table_document import DesiredRow, table_document
from kafka_lagoon.errors import ConfigError, TableError
from kafka_lagoon.folders import is_folder
from kafka_lagoon.warehouse_urls import credentials_fault

HELP = "desired state: a file that ends with .toml, .yaml or .yml, or the folder or URL of a Delta table"


def desired_of(place: str, now_ms: int) -> DesiredState:
    """Read the desired state of this file or table; ConfigError lists every fault."""
    if fault := credentials_fault(place):
        raise ConfigError([f"desired state: {fault}"])
    if "://" in place:
        return desired_state(table_document(place, _rows_by_spark(place)), now_ms)
    try:
        rows = _rows(Path(place)) if is_folder(Path(place) / "_delta_log") else None
    except TableError as error:
        raise ConfigError([str(error)]) from None
    return read_desired(place, now_ms) if rows is None else desired_state(table_document(place, rows), now_ms)


def _rows(folder: Path) -> list[DesiredRow]:
    import duckdb  # noqa: PLC0415  an extra

    from kafka_lagoon.query.duckdb_engine import confined_to  # noqa: PLC0415
    from kafka_lagoon.query.duckdb_tables import select_rows  # noqa: PLC0415

    names = ", ".join(f"CAST({name} AS VARCHAR)" for name in DesiredRow._fields)
    try:
        with confined_to(folder) as database:
            selected = select_rows(database, str(folder), folder).sql
            rows = database.sql(f"SELECT {names} FROM ({selected})").fetchall()  # noqa: S608
    except duckdb.Error as error:
        raise _unreadable(str(folder), str(error).splitlines()[0]) from None
    return [DesiredRow(*row) for row in rows]


def _rows_by_spark(url: str) -> list[DesiredRow]:
    """Read a table on a file system that only Hadoop can read."""
    from kafka_lagoon.delta.session import session  # noqa: PLC0415  an extra
    from kafka_lagoon.delta.storage import JAVA_ERRORS, reason  # noqa: PLC0415

    try:
        table = session("lagoon", url).read.format("delta").load(url)
        rows = table.selectExpr(*(f"CAST({name} AS STRING)" for name in DesiredRow._fields)).collect()
    except JAVA_ERRORS as error:
        raise _unreadable(url, reason(error)) from None
    return [DesiredRow(*row) for row in rows]


def _unreadable(place: str, problem: str) -> ConfigError:
    return ConfigError([f"{place}: {problem}: the columns must be {', '.join(DesiredRow._fields)}"])
