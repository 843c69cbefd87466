"""Examines the commits of others to the archive's tables since a version that was read under the lock.

A commit that contradicts the next offsets, or that removed ranges and problems of earlier runs, is an error: before the run's
own commit it prevents that, afterwards it is reported. A commit that changed single rows is only a note, because users may
delete records on purpose.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from kafka_lagoon.delta.foreign_commits import (
    Commit,
    Contradiction,
    Kind,
    commits_between,
    commits_since,
    contradiction,
)
from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.errors import ChecksFailed, TableError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.ingest.next_offsets import NextOffsets, app_id
from kafka_lagoon.tables.record_tables import RECORD_PROBLEMS, RECORD_RANGES, RECORDS
from kafka_lagoon.tables.table import Table

KEEP = "keep"
# Each run reads the commits after the stored versions again, and the log keeps commits for a week only. So a run without new
# records stores the versions that it has examined if others have made this many commits, or if a commit is this old.
_MOST_COMMITS = 100
_LONGEST_MS = 3 * 24 * 3_600_000


@frozen
class Examined:
    """Versions of tables up to which commits were examined, these commits, and the notes about them."""

    versions: Mapping[str, int]
    commits: Sequence[Commit] = ()
    notes: Sequence[str] = ()


def commits_of(warehouse: Warehouse, table: Table, after: int, upto: int) -> list[Commit]:
    """The commits of a table after one version and up to another."""
    return commits_between(warehouse.kernel.storage, warehouse.locations[table.name], after, upto)


def conflict_in(commits: Sequence[Commit], cluster_id: str) -> Contradiction | None:
    """The commit that contradicts a cluster's archive, or None."""
    return contradiction(commits, app_id(cluster_id))


def conflict_with(
    warehouse: Warehouse, table: Table, cluster_id: str, commits: Sequence[Commit], sequence: int | None
) -> Contradiction | None:
    """The commit that contradicts a cluster's archive, or None. Run `sequence` is the last that added rows; None: not known.

    A RESTORE to a version that has the rows of that run is no contradiction: it removed only rows of other clusters.
    """
    conflict = conflict_in(commits, cluster_id)
    if conflict is None or conflict.rolled_back_to is None or sequence is None:
        return conflict
    with suppress(TableError):
        state = warehouse.kernel.load(warehouse.locations[table.name], conflict.rolled_back_to)
        if state and (warehouse.kernel.last_transaction(state, app_id(cluster_id)) or 0) >= sequence:
            return None
    return conflict


def are_worth_storing(commits: Sequence[Commit], cluster_id: str, now_ms: int) -> bool:
    """True if a run without new records must store that it has examined these commits.

    It must if rows were changed, or if the user keeps a contradicting commit, because the next run would report it again; and
    if commits are many or old. Commits of this cluster's runs, and those that only store next offsets, are not counted.
    """
    needing = [one for one in commits if not one.has_only_domains and app_id(cluster_id) not in one.transactions]
    return (
        len(needing) >= _MOST_COMMITS
        or any(one.kind not in {Kind.OURS, Kind.HARMLESS} for one in needing)
        or any(one.at_ms < now_ms - _LONGEST_MS for one in commits)
    )


def refusal(table: Table, conflict: Contradiction, *, has_offsets: bool) -> str:
    """A message with cause and cure; removed rows can be read again only if `has_offsets`."""
    if conflict.commit.kind is Kind.GONE:
        return (
            f"table {table.name} lacks rows that it had, or cannot be shown to have them, and its log does not have version "
            f"{conflict.commit.version} any more: give --after-restore keep to go on with it as it is"
        )
    what = "next offsets count on records" if table == RECORDS else "earlier runs have added rows"
    return f"table {table.name} {conflict.commit}, and {what} that are gone: {_ways_on(table, conflict, has_offsets)}"


def _ways_on(table: Table, conflict: Contradiction, has_offsets: bool) -> str:
    keep = "keep to go on without it" if has_offsets else "--after-restore keep to go on without them"
    if has_offsets and conflict.rolled_back_to is not None:
        return f"give --after-restore repeat to read again what is missing, or {keep}"
    restore = f"RESTORE TABLE {table.name} TO VERSION AS OF {conflict.commit.version - 1} brings them back"
    return f"{restore}; or give {'--after-restore ' if has_offsets else ''}{keep}"


def examine(
    warehouse: Warehouse,
    cluster_id: str,
    tables: Sequence[Table],
    stored: NextOffsets,
    repeated: NextOffsets | None,
    after_restore: str | None,
) -> Examined:
    """Examine the commits to tables since those that the last run examined.

    TableError if rows of earlier runs are gone. It is not raised if the user keeps the tables as they are, or if the run goes
    back to the next offsets `repeated` and the table still has the rows that were added until then.
    """
    versions, examined, notes = dict[str, int](), list[Commit](), list[str]()
    for table in tables:
        known = stored.examined.get(table.name)
        if known is None:
            versions[table.name] = warehouse.state(table.name).version
            continue
        commits = commits_since(warehouse.kernel.storage, warehouse.locations[table.name], known)
        versions[table.name] = commits[-1].version if commits else min(known, warehouse.state(table.name).version)
        examined += commits
        notes += notes_of(table, commits)
        conflict = conflict_with(warehouse, table, cluster_id, commits, _last_rows(table, stored))
        is_excused = after_restore == KEEP or (
            repeated is not None and conflict is not None and _reaches(warehouse, table, cluster_id, conflict, repeated)
        )
        if conflict and conflict.commit.kind is not Kind.GONE and not is_excused:
            raise TableError(refusal(table, conflict, has_offsets=False))
    return Examined(versions=versions, commits=examined, notes=notes)


def _last_rows(table: Table, stored: NextOffsets) -> int | None:
    """The number of the last run that has added rows to a table, None if it is not known."""
    run = stored.last_run
    if table == RECORD_PROBLEMS and run and not run.problems:
        return stored.problems_run
    return run.sequence if run else None


def _reaches(
    warehouse: Warehouse, table: Table, cluster_id: str, conflict: Contradiction, repeated: NextOffsets
) -> bool:
    """True if a table that was rolled back still has the rows of all runs up to the last one of `repeated`."""
    if conflict.rolled_back_to is None:
        return False
    undone = commits_of(warehouse, table, conflict.rolled_back_to, conflict.commit.version - 1)
    last = repeated.last_run.sequence if repeated.last_run else 0
    return all(commit.kind is not Kind.GONE for commit in undone) and all(
        commit.transactions.get(app_id(cluster_id), last + 1) > last for commit in undone
    )


def notes_of(table: Table, commits: Iterable[Commit]) -> list[str]:
    """Notes about commits that do not contradict the archive."""
    rows = [commit for commit in commits if commit.kind is Kind.ROWS]
    gone = [commit for commit in commits if commit.kind is Kind.GONE]
    notes = [f"table {table.name} {rows[-1]} since the last ingest{_others(rows)}"] if rows else []
    if gone:
        notes.append(
            f"table {table.name}: its log does not have versions {gone[0].version} to {gone[-1].version} any more, so changes "
            "that others made in them are not known"
        )
    return notes


def _others(commits: Sequence[Commit]) -> str:
    return f", and in {len(commits) - 1} other versions" if len(commits) > 1 else ""


def refuse_before(
    warehouse: Warehouse, cluster_id: str, examined: Mapping[str, int], newest: Mapping[str, int]
) -> None:
    """TableError if a commit after the examined version of a table contradicts the archive.

    `newest` has the versions of tables whose state was just read.
    """
    for table in (RECORDS, RECORD_RANGES, RECORD_PROBLEMS):
        if table.name not in examined:
            continue
        after, upto = examined[table.name], newest.get(table.name)
        if upto is None:
            commits = commits_since(warehouse.kernel.storage, warehouse.locations[table.name], after)
        else:
            commits = commits_of(warehouse, table, after, upto)
        if conflict := conflict_in(commits, cluster_id):
            raise TableError(_meanwhile(table, conflict, "nothing is committed"))


def refuse_after(warehouse: Warehouse, cluster_id: str, table: Table, before: int, version: int) -> None:
    """Raise ChecksFailed if a commit between version `before` and our commit, `version`, contradicts the archive."""
    if conflict := conflict_in(commits_of(warehouse, table, before, version), cluster_id):
        raise ChecksFailed(
            _meanwhile(table, conflict, f"version {version} is committed after it, and the next ingest asks")
        )


def _meanwhile(table: Table, conflict: Contradiction, outcome: str) -> str:
    return f"{refusal(table, conflict, has_offsets=table == RECORDS)} (it came while this run was under way: {outcome})"
