"""Finds the tables that chosen snapshots lack: limits on findings or changes of such a table cannot be evaluated.

A snapshot is complete also if tables are skipped or fail that the setting snapshot.skip_tables may name, so its status does not
show these gaps. A table that the brokers do not offer is no gap: the cluster has nothing that could pass a limit.
"""

from collections.abc import Collection, Iterator, Mapping

from kafka_lagoon.cli.tables.command import Condition, TablesContext, of_snapshots
from kafka_lagoon.cli.thresholds import Threshold
from kafka_lagoon.query.history import PREDECESSORS
from kafka_lagoon.query.statements import tuples
from kafka_lagoon.tables.schema import LATER_STATE_TABLES
from kafka_lagoon.tables.table_states import FAILED, PARTIAL, SKIPPED
from kafka_lagoon.text import printable

STATES = "table_states"
_SKIPPED, _FAILED = "skipped", "not read"
_OUTCOMES = {SKIPPED: _SKIPPED, FAILED: _FAILED, PARTIAL: "read in part"}
_NOT_COLLECTED = "not collected by version 0.1.0"
_FIRST = "in no earlier snapshot"
_NOTHING_VISIBLE = "empty, or not visible"
_OF_0_1 = "tables IS NULL"  # in table snapshots

Gaps = Mapping[str, Mapping[str, str]]  # cluster -> table -> reason


def table_gaps(context: TablesContext) -> dict[str, dict[str, str]]:
    """Return the tables that the chosen snapshots lack, or have in part, and empty ones that may only be invisible."""
    return _with_reason(context, _outcomes(context), _hidden(context), _NOTHING_VISIBLE)


def hidden_tables(context: TablesContext) -> Gaps:
    """Return the tables whose lists are empty in the chosen snapshots, and may only be invisible to the user."""
    return _with_reason(context, {}, _hidden(context), _NOTHING_VISIBLE)


def _outcomes(context: TablesContext) -> dict[str, dict[str, str]]:
    """The gaps by the states of tables. Snapshots of version 0.1.0 have no states, and no table that was added since."""
    of_0_1 = of_snapshots(context.snapshots).also(_OF_0_1)
    old = tuples(context.ask(f"SELECT cluster FROM snapshots WHERE {of_0_1}", *of_0_1.values))  # noqa: S608  names of ours
    gaps = {cluster: dict.fromkeys(LATER_STATE_TABLES, _NOT_COLLECTED) for (cluster,) in old}
    of = of_snapshots(context.snapshots).among("outcome", list(_OUTCOMES))
    rows = context.ask(f"SELECT cluster, table_name, outcome FROM {STATES} WHERE {of}", *of.values)  # noqa: S608  names of ours
    for cluster, table, outcome in tuples(rows):
        gaps.setdefault(cluster, {})[table] = _OUTCOMES[outcome]
    return gaps


def gaps_of_changes(context: TablesContext, period: Condition) -> Gaps:
    """Return the gaps of `table_gaps`, and tables whose changes are not known.

    These are tables that no earlier snapshot has. Version 0.1.0 sent some requests of tables that later versions added, so by
    the coverage its snapshots have these tables.
    """
    gaps = _outcomes(context)
    first = period.also("problem IS NULL AND previous_snapshot_id IS NULL")
    of_0_1 = f"SELECT snapshot_id FROM snapshots WHERE {_OF_0_1}"  # noqa: S608  a text of ours
    added = period.also(f"problem IS NULL AND previous_snapshot_id IN ({of_0_1})").among(
        "table_name", LATER_STATE_TABLES
    )
    for of, reason in ((first, _FIRST), (added, _FIRST), (_hidden(context), _NOTHING_VISIBLE)):
        gaps = _with_reason(context, gaps, of, reason)
    return gaps


def _hidden(context: TablesContext) -> Condition:
    return of_snapshots(context.snapshots).also("problem = 'NOTHING_VISIBLE'")


def _with_reason(
    context: TablesContext, gaps: dict[str, dict[str, str]], of: Condition, reason: str
) -> dict[str, dict[str, str]]:
    """Return the gaps with the tables of these rows of view table_coverage, unless they have another reason."""
    rows = context.ask(f"SELECT DISTINCT cluster, table_name FROM {PREDECESSORS} WHERE {of}", *of.values)  # noqa: S608
    for cluster, table in tuples(rows):
        gaps.setdefault(cluster, {}).setdefault(table, reason)
    return gaps


def missing_tables(gaps: Gaps) -> set[str]:
    """Return the tables of which a cluster has nothing, because they were skipped, not read or perhaps not visible."""
    nothing = {_SKIPPED, _FAILED, _NOT_COLLECTED, _NOTHING_VISIBLE}
    return {table for of in gaps.values() for table, reason in of.items() if reason in nothing}


def gap_notes(gaps: Gaps, tables: Collection[str]) -> Iterator[str]:
    """Make a line for people for each cluster that lacks some of the tables."""
    for cluster, reasons in sorted(gaps.items()):
        if spelled := _spelled(reasons, tables):
            yield printable(f"Not known of {cluster}: {spelled}")


def gap_lines(context: TablesContext, gaps: Gaps, limit: Threshold, tables: Collection[str]) -> Iterator[str]:
    """Make a line for each cluster in which a limit on `tables` cannot be evaluated.

    Incomplete snapshots have no line here, because `partial_lines` has one for all limits.
    """
    for snapshot in context.snapshots:
        spelled = _spelled(gaps.get(snapshot.cluster, {}), tables)
        if spelled and not snapshot.is_partial:
            yield f"{limit.name} not known of {printable(snapshot.cluster)}: {spelled}"


def _spelled(reasons: Mapping[str, str], tables: Collection[str]) -> str:
    """Name the tables by reason: `tables acls, configs skipped; table log_dirs not read`."""
    by_reason: dict[str, list[str]] = {}
    for table in sorted(set(tables) & reasons.keys()):
        by_reason.setdefault(reasons[table], []).append(table)
    return "; ".join(
        f"table{'s' if len(names) > 1 else ''} {', '.join(names)} {reason}" for reason, names in by_reason.items()
    )
