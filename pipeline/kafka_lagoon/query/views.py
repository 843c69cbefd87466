"""Lists the views. Each is defined once, in SQL that both Spark and DuckDB run.

Views show rows of published snapshots only; the tables also hold rows of attempts that were not published.
"""

import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from kafka_lagoon.frozen import frozen
from kafka_lagoon.query.group_sums import SUMS, UNCOMMITTED, whole_sum
from kafka_lagoon.tables.record_tables import RECORD_TABLES
from kafka_lagoon.tables.schema import HEADER, STATE_TABLES, STORED_TABLES, TABLES, WRITE_TABLES
from kafka_lagoon.tables.table import Table

CREATE = "CREATE OR REPLACE VIEW"


@frozen
class View:
    """A view, and the file that defines it, in which `words` in braces are replaced."""

    name: str
    file: str
    words: tuple[tuple[str, str], ...]

    @property
    def sql(self) -> str:
        """The statement that creates the view."""
        return _filled(self.file, self.words)

    @property
    def comment(self) -> str:
        """The comment on the view; empty if it has none."""
        comment = re.search(r"^(?:\) )?COMMENT '(.*)'$", self.sql, re.MULTILINE)
        return comment[1] if comment else ""

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """The columns that have comments of their own, and these comments."""
        return tuple(re.findall(r"^  (\w+) COMMENT '(.*?)',?$", self.sql, re.MULTILINE))

    @property
    def query(self) -> str:
        """The SELECT of the view, without its name and comments."""
        return self.sql.partition("\nAS\n")[2]

    def needs(self) -> tuple[str, ...]:
        """Names of the tables and views that it reads, in the order in which it names them."""
        own = set(re.findall(r"^(?:WITH )?(\w+) AS \($", self.sql, re.MULTILINE))  # names that WITH defines
        read = dict.fromkeys(re.findall(r"(?<!DISTINCT )\b(?:FROM|JOIN) (\w+)", self.sql))
        return tuple(name for name in read if name not in own)


@cache
def _filled(file: str, words: tuple[tuple[str, str], ...]) -> str:
    return _text(file).format(**dict(words), columns_of_changes=_text("columns_of_changes").rstrip())


@cache
def _text(file: str) -> str:
    return (files("kafka_lagoon.query") / "views" / f"{file}.sql").read_text("utf-8")


def _view(name: str, file: str, **words: str) -> View:
    return View(name=name, file=file, words=tuple(words.items()))


def _of_history(name: str) -> View:
    if name in _PARTITION_THROUGHPUT:
        return _view(name, "partition_throughput", view=name, **_PARTITION_THROUGHPUT[name])
    return _view(name, name, **_SUMS, **_STATES, **_APART)


def _published(table: Table) -> View:
    name = f"{table.name}_published"
    if not table.when_changed:
        return _view(name, "published", table=table.name)
    own = ",\n  ".join(f"{table.name}.{column.name}" for column in table.columns[len(HEADER) : -1])
    return _view(name, "published_when_changed", table=table.name, columns=own)


_SUMS = {"sum_of_lag": whole_sum("lag"), "sum_of_lag_behind": whole_sum("behind.lag")}


def _apart(column: str) -> str:
    """SQL of a text that is joined to others by spaces: in double quotes if it has spaces, or begins with such a quote."""
    quoted = f"""concat('"', replace({column}, '"', '""'), '"')"""
    return f"""CASE WHEN {column} LIKE '% %' OR {column} LIKE '"%' THEN {quoted} ELSE {column} END"""


_APART = {
    "acl_resource": _apart("resource_name"),
    "acl_principal": _apart("principal"),
    "quota_user": _apart("quotas_published.user"),
    "quota_client_id": _apart("client_id"),
}

# Versions of the views that compute stored rows; tests/query/test_views.py demands a new number when one of them changes.
CHANGES_VERSION = 5
THROUGHPUT_VERSION = 2


def _state(version: int, over: str, *others: str) -> str:
    """SQL of a day's state: sums over the rows that its stored rows are computed from.

    Equal sums mean the same rows, because later runs can only remove such rows or publish late ones.
    """
    parts = (
        f"count(*){over}",
        f"sum(unix_millis(captured_at)){over}",
        f"sum(coalesce(unix_millis(previous_captured_at), 0)){over}",
        *others,
    )
    numbers = ", ' ', ".join(f"CAST(CAST({part} AS BIGINT) AS STRING)" for part in parts)
    return f"concat('{version} ', {numbers})"


def _state_of_changes(over: str = "") -> str:
    """SQL of the state of a day's changes, over rows of view table_coverage."""
    return _state(CHANGES_VERSION, over, f"count(problem){over}")


_STATES = {
    "state": _state_of_changes(),
    "state_of_rows": _state_of_changes(" OVER of_day"),
    "state_of_throughput": _state(THROUGHPUT_VERSION, ""),
}

# A view of all days, and the same view of the days that are not stored.
_PARTITION_THROUGHPUT = {
    "partition_throughput": {"snapshots": "consecutive_snapshots", "of_days": ""},
    "unstored_throughput": {
        "snapshots": "unstored_snapshots",
        "of_days": " of the UTC days that stored_throughput does not have",
    },
}

# Views over several snapshots; tests/query/views/ has worked examples of each.
HISTORY = (
    "consecutive_snapshots",
    "lag_trend",
    "group_partition_status",
    "group_status",
    "loss_ahead",
    "throughput_days",
    "unstored_snapshots",
    "partition_throughput",
    "unstored_throughput",
    "topic_throughput",
    "partition_skew",
    "rebalances",
    "topic_growth",
    "table_coverage",
    "idle_topics",
)
# Views of changes and findings, each after those that it reads; with worked examples, too.
CHANGES = (
    "change_days",
    "day_snapshots",
    "topology_facts",
    "described_entities",
    "partition_differences",
    "computed_changes",
    "daily_changes",
    "late_list_changes",
    "topology_changes",
    "health_findings",
    "broker_loss_partitions",
    "broker_loss",
    "cluster_differences",
)

VIEWS = (  # each after those that it reads
    *(
        _view(name, name, sums=SUMS, uncommitted=UNCOMMITTED)
        for name in (
            "snapshots_now",
            "lag_now",
            "lag_by_group",
            "superseded_ranges",
            "records_now",
            "ingests",
            "table_states",
            "admin_outcomes",
        )
    ),
    *map(_published, STATE_TABLES[:-1]),  # every row of the last table, snapshots, is published
    *map(_of_history, (*HISTORY, *CHANGES, "owner_totals")),
)
NAMES = (*(table.name for table in TABLES), *(view.name for view in VIEWS))


def with_needs(names: Iterable[str]) -> set[str]:
    """These tables and views, and those that they read."""
    wanted = set(names)
    for view in reversed(VIEWS):
        if view.name in wanted:
            wanted.update(view.needs())
    return wanted


def query_over_tables(view: View) -> str:
    """The query of a view in which all views that it reads, directly or through others, are common table expressions.

    Spark analyses a view again wherever a view names it: below `topology_changes`, views are named 67 times. It analyses
    a common table expression once.
    """
    below = with_needs([view.name]) - {view.name}
    tables = [f"{one.name} AS (\n{one.query}\n)" for one in VIEWS if one.name in below]
    joined = ",\n".join(tables)
    return f"WITH {joined}\n(\n{view.query}\n)" if tables else view.query


def in_order_of_reading(names: Iterable[str]) -> list[Table]:
    """The tables among these names in the order in which their logs must be read.

    `snapshots` is written last and so is read first: the rows that it refers to are then in the other tables. The ranges of
    an ingest are committed after its records and are read after them, so that a truncation of the log is not missed.
    """
    wanted = set(names)
    return [
        table
        for table in (STATE_TABLES[-1], *STATE_TABLES[:-1], *STORED_TABLES, *RECORD_TABLES, *WRITE_TABLES)
        if table.name in wanted
    ]


@cache
def column_comments(name: str) -> dict[str, str]:
    """Comments of the columns of a table or view; a view without comments has those of the tables that it reads."""
    for table in TABLES:
        if table.name == name:
            return {column.name: column.comment for column in table.columns}
    view = next(view for view in VIEWS if view.name == name)
    if view.columns:
        return dict(view.columns)
    comments: dict[str, str] = {}
    for needed in view.needs():
        comments = column_comments(needed) | comments
    return comments
