"""Chooses the published snapshot from which a restore takes topics, configs, ACLs and offsets of groups.

It is the newest in which everything that the restore needs was collected. In others a row may be missing because a request
failed or a table was skipped, as if the source did not have that topic or group.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cached_property

from kafka_lagoon.errors import ConfigError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.query.statements import Ask
from kafka_lagoon.restore.request import RestoreRequest
from kafka_lagoon.restore.saved_rows import rows_of
from kafka_lagoon.tables.table_states import COMPLETE

# Tables and views that the functions here read.
VIEWS = (
    "snapshots",
    "coverage",
    "collection_failures",
    "table_coverage",
    "table_states",
    "topics_published",
    "configs_published",
)

_TOPICS, _CONFIGS, _ACLS, _OFFSETS, _GROUPS = "topics", "configs", "acls", "committed_offsets", "consumer_groups"
_WORDS = {_TOPICS: "topics", _CONFIGS: "configs", _ACLS: "ACLs", _OFFSETS: "committed offsets"}
_NO_ACLS = ("SECURITY_DISABLED", "UNSUPPORTED_VERSION")  # problems of clusters without ACLs
_LEFT_OUT, _NOT_ASKED, _INCOMPLETE = "chosen", "NOT_ASKED", "some requests failed"
_NOT_COLLECTED = "version 0.1.0 did not collect them"  # it sent DescribeConfigs for min.insync.replicas alone
_DENIED = "_AUTHORIZATION_FAILED"
# Failures of groups, in SQL. Those of single partitions are left out: their commits have rows with a problem.
_OF_GROUPS = (
    "api IN ('OffsetFetch', 'FindCoordinator') "
    "AND coalesce(scope_type, 'list') NOT IN ('topic', 'partition', 'group_partition')"
)


@frozen
class ChosenSnapshot:
    """A published snapshot; `notes` say why it is not the newest, and which groups it lacks."""

    snapshot_id: str
    captured_at: datetime
    notes: Sequence[str] = ()

    def __str__(self) -> str:
        return f"snapshot {self.snapshot_id} of {spelled(self.captured_at)}"


@frozen(kw_only=False)
class _State:
    """The result of collecting a table of a snapshot."""

    problem: str | None
    visibility: str | None
    outcome: str | None


_UNKNOWN = _State(_NOT_ASKED, None, None)


def choose_snapshot(ask: Ask, cluster_id: str, request: RestoreRequest, topics: Sequence[str]) -> ChosenSnapshot | None:
    """The newest snapshot, at or before `--at`, that has everything that the request needs; a note if others are newer.

    None if there is no such snapshot, or ConfigError if an option needs it.
    """
    sought = _Sought(ask, cluster_id, request, topics)
    known = [one for one in _published(ask, cluster_id) if _is_before(one, request.at_ms)]
    newest: Sequence[str] = ()
    for snapshot in known:
        if newest and sought.lacks_rows(snapshot.snapshot_id):
            continue  # why is said of the newest alone
        lacks = sought.lacking(snapshot.snapshot_id)
        if not lacks:
            return _with_notes(sought, snapshot, known[0], newest)
        newest = newest or lacks
    if sought.is_optional:
        return None
    when = "" if request.at_ms is None else " from before --at"
    if not known:
        raise ConfigError([f"--from-cluster: no snapshot of cluster {cluster_id} is published{when}"])
    none = f"--from-cluster: no snapshot of cluster {cluster_id}{when} has everything that the restore needs"
    raise ConfigError([f"{none}; the newest lacks {one}" for one in newest])


def check_snapshot(
    ask: Ask, cluster_id: str, snapshot_id: str | None, request: RestoreRequest, topics: Sequence[str]
) -> Sequence[str]:
    """Check that the snapshot of a restore that continues has everything still needed, and is the one that `--at` chooses.

    Topics exist by then, so neither they nor their configs are needed. Returns notes; ConfigError names the cure.
    """
    cure = "--new starts the restore again with another snapshot"
    known = {one.snapshot_id: one for one in _published(ask, cluster_id)}
    sought = _Sought(ask, cluster_id, replace(request, with_configs=False), ())
    if snapshot_id is None:
        if sought.is_optional:
            return ()
        raise ConfigError(
            [f"the restore was begun when no snapshot had what it needs: leave the option out, or {cure}"]
        )
    if snapshot_id not in known and sought.is_optional and request.at_ms is None:
        return ()
    if snapshot_id not in known:
        raise ConfigError(
            [f"snapshot {snapshot_id}, from which the restore was planned, is not published any more: {cure}"]
        )
    if lacks := sought.lacking(snapshot_id):
        planned = f"{known[snapshot_id]}, from which the restore was planned"
        raise ConfigError([f"{planned}, lacks {one}: leave the option out, or {cure}" for one in lacks])
    if request.at_ms is not None:
        chosen = choose_snapshot(ask, cluster_id, request, topics)
        if chosen and chosen.snapshot_id != snapshot_id:
            planned = f"the restore was planned from {known[snapshot_id]}"
            raise ConfigError([f"--at: {planned}, and --at chooses {chosen}: leave --at out, or {cure}"])
    return _of_groups(sought, known[snapshot_id])


def last_with(ask: Ask, cluster_id: str, topic: str) -> ChosenSnapshot | None:
    """The newest snapshot that has a topic with its partitions."""
    statement = (
        "SELECT snapshot_id, captured_at FROM topics_published WHERE cluster_id = ? AND topic = ? AND partitions > 0 "
        "ORDER BY captured_at DESC LIMIT 1"
    )
    return next((ChosenSnapshot(**row) for row in rows_of(ask, statement, cluster_id, topic)), None)


def spelled(captured_at: datetime) -> str:
    """The time of a snapshot in UTC for messages, rounded up to a second, so that as `--at` it chooses this snapshot."""
    rounded = (captured_at + timedelta(seconds=1, microseconds=-1)).replace(microsecond=0)
    return rounded.astimezone(UTC).isoformat()


class _Sought:
    """Finds out whether snapshots have what a request needs."""

    def __init__(self, ask: Ask, cluster_id: str, request: RestoreRequest, topics: Sequence[str]) -> None:
        self.ask, self.request, self.topics = ask, request, frozenset(topics)
        needed = {_CONFIGS: request.with_configs, _ACLS: request.with_acls, _OFFSETS: request.with_offsets}
        self._needed = [_TOPICS, *(table for table, is_needed in needed.items() if is_needed)]
        self._states, self._cluster_id = _states(ask, cluster_id), cluster_id

    @property
    def is_optional(self) -> bool:
        """True if topics can be created without a snapshot, and nothing else is needed."""
        return self._needed == [_TOPICS]

    def lacking(self, snapshot_id: str) -> Sequence[str]:
        """Name each table that lacks something that the request needs, with the reason."""
        reasons = {table: self._reason(snapshot_id, table) for table in self._needed}
        return [f"{_WORDS[table]} ({reason})" for table, reason in reasons.items() if reason]

    def lacks_rows(self, snapshot_id: str) -> bool:
        """True if topics, configs of topics or commits are missing, of which the cluster may have had some.

        One statement finds all snapshots that lack rows of a table: there may be tens of thousands of them.
        """
        is_whole = _is_whole(self.state(snapshot_id, _TOPICS))
        if self.topics and not is_whole and snapshot_id not in self._with_all_topics:
            return True
        if self.topics and self._is_in_doubt(snapshot_id, _CONFIGS) and snapshot_id in self._without_configs:
            return True
        return self._is_in_doubt(snapshot_id, _OFFSETS) and snapshot_id in self._without_offsets

    def _is_in_doubt(self, snapshot_id: str, table: str) -> bool:
        return table in self._needed and self.state(snapshot_id, table).outcome != COMPLETE

    @cached_property
    def _with_all_topics(self) -> frozenset[str]:
        """The snapshots that have all of the topics."""
        statement = f"""
            SELECT snapshot_id FROM topics_published
            WHERE cluster_id = ? AND partitions > 0 AND topic IN ({self._marks})
            GROUP BY snapshot_id HAVING count(DISTINCT topic) = {len(self.topics)}"""  # noqa: S608  numbers and marks
        return self._ids(statement, *sorted(self.topics))

    @cached_property
    def _without_configs(self) -> frozenset[str]:
        """The snapshots that have one of the topics without its configs."""
        statement = f"""
            SELECT DISTINCT topics.snapshot_id FROM topics_published AS topics
            ANTI JOIN configs_published AS configs
              ON topics.snapshot_id = configs.snapshot_id
              AND topics.topic = configs.resource_name
              AND configs.resource_type = 'topic'
            WHERE topics.cluster_id = ? AND topics.partitions > 0 AND topics.topic IN ({self._marks})"""  # noqa: S608  marks
        return self._ids(statement, *sorted(self.topics))

    @cached_property
    def _without_offsets(self) -> frozenset[str]:
        """The snapshots in which offsets of a group that may be read could not be read, and say so."""
        statement = f"""
            SELECT DISTINCT failures.snapshot_id FROM collection_failures AS failures
            JOIN table_states
              ON failures.snapshot_id = table_states.snapshot_id
              AND table_states.table_name = '{_OFFSETS}'
            WHERE table_states.cluster_id = ? AND {_OF_GROUPS} AND failures.error_name NOT LIKE '%{_DENIED}'"""  # noqa: S608
        return self._ids(statement)

    @property
    def _marks(self) -> str:
        return ", ".join("?" for _ in self.topics)

    def _ids(self, statement: str, *values: str) -> frozenset[str]:
        return frozenset(row["snapshot_id"] for row in rows_of(self.ask, statement, self._cluster_id, *values))

    def state(self, snapshot_id: str, table: str) -> _State:
        """The result of collecting a table of a snapshot."""
        return self._states.get((snapshot_id, table), _UNKNOWN)

    def _reason(self, snapshot_id: str, table: str) -> str | None:
        """The reason why rows of a table may be missing; None if it has everything that the request needs."""
        state = self.state(snapshot_id, table)
        if table == _TOPICS:
            return self._reason_of_topics(snapshot_id, state)
        if table == _ACLS and state.problem in _NO_ACLS:
            return None
        if table == _CONFIGS and state.outcome is None:
            return self._reason_of_configs(snapshot_id, _NOT_COLLECTED)
        if state.problem or state.outcome == COMPLETE:
            return state.problem
        if table == _CONFIGS:
            return self._reason_of_configs(snapshot_id, _INCOMPLETE)
        if state.outcome is None:
            return None
        if table == _OFFSETS:
            names = [name for name, _ in failed_groups(self.ask, snapshot_id) if not name.endswith(_DENIED)]
            return names[0] if names else None
        return _INCOMPLETE

    def _reason_of_topics(self, snapshot_id: str, state: _State) -> str | None:
        missing = [] if _is_whole(state) else sorted(self.topics - saved_names(self.ask, snapshot_id))
        if not missing:
            return None
        why = state.problem or ("settings leave topics out" if state.visibility == _LEFT_OUT else _INCOMPLETE)
        return f"{missing[0]}: {why}"

    def _reason_of_configs(self, snapshot_id: str, why: str) -> str | None:
        statement = (
            "SELECT DISTINCT resource_name FROM configs_published WHERE snapshot_id = ? AND resource_type = 'topic'"
        )
        described = {row["resource_name"] for row in rows_of(self.ask, statement, snapshot_id)}
        missing = sorted((self.topics & saved_names(self.ask, snapshot_id)) - described)
        return f"{missing[0]}: {why}" if missing else None


def _is_whole(state: _State) -> bool:
    """True if topics that a snapshot does not have were not there."""
    return state.problem is None and state.outcome in (None, COMPLETE) and state.visibility != _LEFT_OUT


def saved_names(ask: Ask, snapshot_id: str) -> frozenset[str]:
    """The topics that a snapshot has, with their partitions."""
    statement = "SELECT topic FROM topics_published WHERE snapshot_id = ? AND partitions > 0"
    return frozenset(row["topic"] for row in rows_of(ask, statement, snapshot_id))


def failed_groups(ask: Ask, snapshot_id: str) -> list[tuple[str, str]]:
    """The errors of groups whose offsets a snapshot could not read, with the scope of each error as text."""
    statement = (
        f"SELECT error_name, scope FROM collection_failures WHERE snapshot_id = ? AND {_OF_GROUPS} "  # noqa: S608  names of ours
        "ORDER BY error_name, scope"
    )
    return [(row["error_name"], row["scope"]) for row in rows_of(ask, statement, snapshot_id)]


def _published(ask: Ask, cluster_id: str) -> list[ChosenSnapshot]:
    """The snapshots of a cluster, the newest first."""
    statement = "SELECT snapshot_id, captured_at FROM snapshots WHERE cluster_id = ? ORDER BY captured_at DESC"
    return [ChosenSnapshot(**row) for row in rows_of(ask, statement, cluster_id)]


def _is_before(snapshot: ChosenSnapshot, at_ms: int | None) -> bool:
    return at_ms is None or snapshot.captured_at.timestamp() * 1000 <= at_ms


def _states(ask: Ask, cluster_id: str) -> Mapping[tuple[str, str], _State]:
    """The results of collecting the tables of all snapshots of a cluster; snapshots of version 0.1.0 have no outcome."""
    statement = """
        SELECT table_coverage.snapshot_id, table_coverage.table_name, table_coverage.problem, table_coverage.visibility,
          table_states.outcome
        FROM table_coverage LEFT JOIN table_states
          ON table_coverage.snapshot_id = table_states.snapshot_id AND table_coverage.table_name = table_states.table_name
        WHERE table_coverage.cluster_id = ?
          AND table_coverage.table_name IN ('topics', 'configs', 'acls', 'committed_offsets', 'consumer_groups')
    """
    return {
        (row["snapshot_id"], row["table_name"]): _State(row["problem"], row["visibility"], row["outcome"])
        for row in rows_of(ask, statement, cluster_id)
    }


def _with_notes(
    sought: _Sought, snapshot: ChosenSnapshot, newest: ChosenSnapshot, lacks: Sequence[str]
) -> ChosenSnapshot:
    older = [f"{snapshot} is used: the newest, {newest.snapshot_id}, lacks {one}" for one in lacks]
    notes = [*older, *_of_groups(sought, snapshot)]
    return ChosenSnapshot(snapshot_id=snapshot.snapshot_id, captured_at=snapshot.captured_at, notes=notes)


def _of_groups(sought: _Sought, snapshot: ChosenSnapshot) -> Sequence[str]:
    """Notes about groups whose offsets a snapshot lacks: settings left them out, or the user may not read them."""
    if not sought.request.with_offsets:
        return ()
    state = sought.state(snapshot.snapshot_id, _OFFSETS)
    failed = [] if state.outcome in (None, COMPLETE) else failed_groups(sought.ask, snapshot.snapshot_id)
    notes = [f"{snapshot} has no offsets of {scope}: {name}" for name, scope in failed]
    if sought.state(snapshot.snapshot_id, _GROUPS).visibility == _LEFT_OUT:
        notes.append(
            f"{snapshot} has offsets of some groups only: settings leave others out (--at TIME chooses another)"
        )
    return notes
