"""Reads what is wrong, about to go wrong, or different: data loss, health findings, and changes of the history."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from kafka_lagoon.frozen import frozen
from kafka_lagoon.report.scope import Scope, ids, of
from kafka_lagoon.report.values import with_owner

LOSS_WITHIN_S = 86_400  # a loss that is expected within a day is a warning
MOST = 1_000  # rows of each kind that the page takes
_OF_A_PART = 300  # snapshots: a day of them every five minutes has 288

_WORST_CHANGE = (
    "CASE change_type WHEN 'truncated' THEN 0 WHEN 'recreated' THEN 1 WHEN 'moved_back' THEN 2 WHEN 'removed' THEN 3 "
    "WHEN 'changed' THEN 4 ELSE 5 END"
)
_BY_NAME = "entity_type, entity NULLS LAST, attribute NULLS LAST"  # without these words Spark has nulls first


@frozen(kw_only=False)
class Loss:
    """A partition of which a group has lost records, or soon will."""

    group_id: str
    topic: str
    partition: int
    records_lost: int | None
    lag: int | None
    left_ms: int | None
    loss_ms: int | None
    evidence: str | None
    owner: str | None = None  # of the group

    @property
    def name(self) -> str:
        """The id of the group, and its owner."""
        return with_owner(self.group_id, self.owner)


@frozen(kw_only=False)
class Finding:
    """One row of view health_findings; one that had begun before the history of the page `is_older` than `since_ms`."""

    severity: str
    finding: str
    entity_type: str
    entity: str
    topic: str | None
    partition: int | None
    since_ms: int
    snapshots: int | None
    detail: str | None
    is_older: bool = False
    owner: str | None = None
    is_expected: bool = False


@frozen(kw_only=False)
class Change:
    """One row of view topology_changes."""

    captured_ms: int
    change_type: str
    entity_type: str
    entity: str
    attribute: str | None
    old_value: str | None
    new_value: str | None
    is_proven: bool
    topic: str | None
    partition: int | None
    group_id: str | None


@frozen(kw_only=False)
class Difference:
    """One row of view cluster_differences."""

    other_cluster: str
    difference: str
    entity_type: str
    entity: str | None
    attribute: str | None
    value: str | None
    other_value: str | None
    is_proven: bool
    problem: str | None
    other_problem: str | None


def losses_of(scope: Scope) -> list[Loss]:
    """Lost records first, then those that retention reaches soonest."""
    statement = f"""
        SELECT group_id, topic, partition, records_lost, lag, CAST(round(seconds_left * 1000) AS BIGINT), unix_millis(loss_at),
          evidence, owners.owner
        FROM (
          SELECT * FROM loss_ahead
          WHERE {of(scope.snapshot)} AND (records_lost > 0 OR seconds_left < {LOSS_WITHIN_S})
        ) AS losses
        LEFT JOIN (SELECT name, owner FROM owners_published WHERE {of(scope.snapshot)} AND entity_type = 'group') AS owners
          ON losses.group_id = owners.name
        ORDER BY CASE WHEN records_lost > 0 THEN records_lost ELSE 0 END DESC, seconds_left NULLS LAST, group_id, topic,
          partition"""  # noqa: S608  names of ours
    return scope.read(Loss, statement, *ids(scope.snapshot), *ids(scope.snapshot))


def no_estimates_of(scope: Scope) -> list[tuple[str, int]]:
    """The reasons for missing estimates of loss, with the number of partitions."""
    statement = f"""
        SELECT no_estimate_because, count(*) FROM loss_ahead
        WHERE {of(scope.snapshot)} AND no_estimate_because IN ('configs_unknown', 'not_measured')
        GROUP BY no_estimate_because ORDER BY no_estimate_because"""  # noqa: S608  names of ours
    return [(reason, number) for reason, number in scope.rows(statement, *ids(scope.snapshot))]


def findings_of(scope: Scope) -> list[Finding]:
    """The worst first, of equal ones the oldest; those that are expected last."""
    begin_ms = scope.begin_ms
    is_older = f"unix_millis(since) <= {begin_ms}"
    statement = f"""
        SELECT severity, finding, entity_type, entity, topic, partition, greatest(unix_millis(since), {begin_ms}),
          CASE WHEN NOT {is_older} THEN snapshots END, detail, {is_older}, owner, is_expected
        FROM health_findings WHERE {of(scope.snapshot)}
        ORDER BY is_expected, CASE severity WHEN 'critical' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END, since, finding, entity"""  # noqa: S608
    return scope.read(Finding, statement, *ids(scope.snapshot))


def changes_of(scope: Scope) -> tuple[list[Change], Sequence[tuple[str, str, int]]]:
    """Changes that the snapshots of the history show, the newest first, and how many there are of each type."""
    listed, counts = list[Change](), Counter[tuple[str, str]]()
    computed = scope.rows("SELECT DISTINCT day FROM day_snapshots WHERE cluster = ?", scope.snapshot.cluster)
    for days in scope.parts(_OF_A_PART, {day for (day,) in computed}):
        for *values, number in _changes_of(scope, days, MOST - len(listed)):
            change = Change(*values)
            if number is None:
                listed.append(change)
            else:
                counts[change.change_type, change.entity_type] += number
    numbered = [(*kind, number) for kind, number in counts.items()]
    return listed, sorted(numbered, key=lambda count: (-count[2], *count[:2]))


def _changes_of(scope: Scope, days: str, most: int) -> list[tuple[Any, ...]]:
    """Counts, then the newest changes, in one statement, because the view is costly."""
    axis = scope.axis
    since = (
        f"cluster = ? AND {days} AND unix_millis(captured_at) > {axis.from_ms} "
        f"AND unix_millis(captured_at) <= {axis.until_ms}"
    )
    statement = f"""
        WITH changes AS (
          SELECT unix_millis(captured_at) AS captured_ms, change_type, entity_type, entity, attribute, old_value, new_value,
            is_proven, topic, partition, group_id
          FROM topology_changes WHERE {since}
        )
        SELECT CAST(NULL AS BIGINT) AS captured_ms, change_type, entity_type, NULL AS entity, NULL AS attribute,
          NULL AS old_value, NULL AS new_value, NULL AS is_proven, NULL AS topic, NULL AS partition, NULL AS group_id,
          count(*) AS number
        FROM changes GROUP BY change_type, entity_type
        UNION ALL
        SELECT * FROM (
          SELECT changes.*, CAST(NULL AS BIGINT) AS number FROM changes
          ORDER BY captured_ms DESC, {_WORST_CHANGE}, {_BY_NAME} LIMIT {most}
        ) AS newest
        ORDER BY captured_ms DESC NULLS LAST, {_WORST_CHANGE}, {_BY_NAME}"""  # noqa: S608  names of ours
    return scope.rows(statement, scope.snapshot.cluster)


def compared_with(scope: Scope) -> tuple[list[str], list[str]]:
    """The other clusters of the page that the cluster is compared with, and those that it is not.

    View cluster_differences compares the newest snapshots; a page about an earlier slot may show others.
    """
    newest = set(scope.rows("SELECT cluster, snapshot_id FROM snapshots_now"))
    is_newest = ids(scope.snapshot) in newest
    compared = [other.cluster for other in scope.others if is_newest and ids(other) in newest]
    return compared, [other.cluster for other in scope.others if other.cluster not in compared]


def differences_of(scope: Scope, clusters: Sequence[str]) -> tuple[list[Difference], int, int]:
    """The differences from these clusters, those that are unknown last; the number of all, and of those that are unknown."""
    marks = ", ".join("?" for _ in clusters) or "NULL"
    is_unknown = "CASE difference WHEN 'unknown' THEN 1 ELSE 0 END"
    statement = f"""
        SELECT other_cluster, difference, entity_type, entity, attribute, value, other_value, is_proven, problem,
          other_problem, count(*) OVER (), sum({is_unknown}) OVER ()
        FROM cluster_differences WHERE cluster = ? AND other_cluster IN ({marks})
        ORDER BY {is_unknown}, other_cluster, {_BY_NAME}
        LIMIT {MOST}"""  # noqa: S608  names of ours
    rows = scope.rows(statement, scope.snapshot.cluster, *clusters)
    total, unknown = rows[0][-2:] if rows else (0, 0)
    return [Difference(*row[:-2]) for row in rows], total, unknown
