"""A warehouse in, its tables and views by name in the session out.

Guards one rule: views join the published snapshots; the tables themselves hold unpublished rows too.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files

from pyspark.errors import PySparkException

from pipeline.errors import TableError
from pipeline.tables.schema import TABLES
from pipeline.tables.storage import reason
from pipeline.tables.warehouse import Warehouse

_CREATE = "CREATE OR REPLACE VIEW"


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One view as its file has it; `columns` are those with comments of their own, empty if it shows a table's."""

    name: str
    comment: str
    columns: tuple[tuple[str, str], ...]
    sql: str

    def needs(self) -> set[str]:
        """Names of the tables and views that it reads."""
        return set(re.findall(r"\b(?:FROM|JOIN) (\w+)", self.sql))


def _view(name: str) -> View:
    sql = (files("pipeline.tables") / "views" / f"{name}.sql").read_text("utf-8")
    comment = re.search(r"^(?:\) )?COMMENT '(.*)'$", sql, re.MULTILINE)
    columns = re.findall(r"^  (\w+) COMMENT '(.*?)',?$", sql, re.MULTILINE)
    return View(name=name, comment=comment[1] if comment else "", columns=tuple(columns), sql=sql)


VIEWS = tuple(
    map(_view, ("snapshots_now", "lag_now", "lag_by_group", "records_now", "ingests"))
)  # each after those that it reads
_NAMES = (*(table.name for table in TABLES), *(view.name for view in VIEWS))


def make_available(warehouse: Warehouse, names: Iterable[str] | None = None) -> None:
    """Let SQL say `names` (default: every table and view): temporary views over a folder, real views in a catalog.

    A catalog's schema becomes the current one. TableError if something cannot be read or created.
    """
    wanted = set(_NAMES) if names is None else _with_needs(names)
    try:
        if warehouse.in_catalog:
            _use_schema(warehouse)
        else:
            _show_tables(warehouse, wanted)
        for view in VIEWS:
            if view.name in wanted:
                kind = _CREATE if warehouse.in_catalog else "CREATE OR REPLACE TEMPORARY VIEW"
                warehouse.spark.sql(view.sql.replace(_CREATE, kind, 1))
    except PySparkException as error:
        raise TableError(f"{warehouse.name}: {reason(error)}") from error


def _use_schema(warehouse: Warehouse) -> None:
    """Let bare names mean the schema's; temporary views of another warehouse would come before them."""
    for name in _NAMES:
        warehouse.spark.catalog.dropTempView(name)
    warehouse.spark.sql(f"USE {warehouse.name}")


def _show_tables(warehouse: Warehouse, wanted: set[str]) -> None:
    for table in TABLES:
        if table.name in wanted:
            rows = warehouse.spark.read.format("delta").load(warehouse.locations[table.name])
            rows.createOrReplaceTempView(table.name)


def _with_needs(names: Iterable[str]) -> set[str]:
    wanted = set(names)
    for view in reversed(VIEWS):
        if view.name in wanted:
            wanted |= view.needs()
    return wanted
