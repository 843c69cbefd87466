"""Reads what the snapshot saw and did not see: failures, lists that may be short, tables that are missing."""

from kafka_lagoon.frozen import frozen
from kafka_lagoon.report.scope import Scope, ids, of
from kafka_lagoon.tables.schema import LATER_STATE_TABLES

NOT_COLLECTED = "not_collected"


@frozen(kw_only=False)
class FailureRow:
    """One row of table collection_failures."""

    api: str
    broker_id: int | None
    scope: str
    items: int | None
    error_name: str
    message: str | None


@frozen(kw_only=False)
class ShortList:
    """A list of the brokers that may be short, or that settings shortened."""

    api: str
    visibility: str | None
    left_out: int


@frozen
class ClusterHealth:
    """Numbers of unhealthy brokers and partitions; `fenced` is None if brokers do not return it.

    `unknown_min_isr` are partitions of which it is not known whether they are under min.insync.replicas.
    """

    fenced: int | None
    leaderless: int
    under_replicated: int
    under_min_isr: int
    unknown_min_isr: int


def failures_of(scope: Scope) -> list[FailureRow]:
    """The failures of the snapshot."""
    statement = f"""
        SELECT api, broker_id, scope, items, error_name, message FROM collection_failures
        WHERE {of(scope.snapshot)} ORDER BY coalesce(items, 1) DESC, api, broker_id NULLS LAST,
          error_name"""  # noqa: S608  names of ours
    return scope.read(FailureRow, statement, *ids(scope.snapshot))


def missing_tables_of(scope: Scope) -> list[tuple[str, str]]:
    """Tables of the snapshot that are not complete, each with what it is instead: an outcome, or NOT_COLLECTED."""
    if scope.snapshot.is_of_first_version:
        return [(name, NOT_COLLECTED) for name in LATER_STATE_TABLES]
    statement = f"""
        SELECT table_name, outcome FROM table_states
        WHERE {of(scope.snapshot)} AND outcome <> 'complete' ORDER BY outcome, table_name"""  # noqa: S608  names of ours
    return [(name, outcome) for name, outcome in scope.rows(statement, *ids(scope.snapshot))]


def short_lists_of(scope: Scope) -> list[ShortList]:
    """Lists that are not proven to be whole, and what settings left out of them."""
    statement = f"""
        SELECT api, max(visibility), CAST(coalesce(sum(left_out), 0) AS BIGINT) FROM coverage
        WHERE {of(scope.snapshot)} AND (visibility IS NOT NULL OR left_out > 0)
        GROUP BY api HAVING count(CASE WHEN visibility <> 'complete' THEN 1 END) > 0 OR sum(left_out) > 0
        ORDER BY api"""  # noqa: S608  names of ours
    return scope.read(ShortList, statement, *ids(scope.snapshot))


def health_of(scope: Scope) -> ClusterHealth:
    """Counts of brokers and partitions."""
    of_now, values = of(scope.snapshot), ids(scope.snapshot)
    brokers = f"SELECT count(is_fenced), count(CASE WHEN is_fenced THEN 1 END) FROM brokers_published WHERE {of_now}"  # noqa: S608
    partitions = f"""
        SELECT count(CASE WHEN is_leaderless THEN 1 END), count(CASE WHEN is_under_replicated THEN 1 END),
          count(CASE WHEN is_under_min_isr AND coalesce(cardinality(isr) < cardinality(replicas), TRUE) THEN 1 END),
          count(CASE WHEN is_under_min_isr IS NULL THEN 1 END)
        FROM partitions_published WHERE {of_now}"""  # noqa: S608  names of ours
    ((known, fenced),) = scope.rows(brokers, *values)
    ((leaderless, under_replicated, under_min_isr, unknown_min_isr),) = scope.rows(partitions, *values)
    return ClusterHealth(
        fenced=fenced if known else None,
        leaderless=leaderless,
        under_replicated=under_replicated,
        under_min_isr=under_min_isr,
        unknown_min_isr=unknown_min_isr,
    )
