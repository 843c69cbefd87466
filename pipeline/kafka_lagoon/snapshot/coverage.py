"""Makes the rows of tables coverage and collection_failures: what was requested, answered, and why not all."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from kafka_lagoon.client.failures import Failure, Scope, ScopeType
from kafka_lagoon.client.request_stats import ApiStats, ItemCounts, Key, RequestStats
from kafka_lagoon.protocol.error_codes import (
    DELEGATION_TOKEN_AUTH_DISABLED,
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED,
    SECURITY_DISABLED,
    UNSUPPORTED_FOR_MESSAGE_FORMAT,
)
from kafka_lagoon.protocol.messages.api_versions import API_VERSIONS
from kafka_lagoon.protocol.messages.sasl_authenticate import SASL_AUTHENTICATE
from kafka_lagoon.protocol.messages.sasl_handshake import SASL_HANDSHAKE
from kafka_lagoon.snapshot.topology import Topology
from kafka_lagoon.tables.snapshot_rows import CollectionFailureRow, CoverageRow

_OF_CONNECTIONS = {api.name for api in (API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE)}
_LONGEST_MESSAGE = 1024
_SCOPES_SHOWN = 3
SKIPPED, LEFT_OUT = "SKIPPED", "LEFT_OUT"
_NOTHING: Mapping[str, int] = {}
# Errors of clusters that do not offer something: no authorizer keeps ACLs, delegation tokens are switched off, or our listener
# does not allow them.
_NOT_OFFERED = frozenset((SECURITY_DISABLED, DELEGATION_TOKEN_AUTH_DISABLED, DELEGATION_TOKEN_REQUEST_NOT_ALLOWED))

V = TypeVar("V")


def coverage_rows(
    request_stats: RequestStats,
    trusted: Mapping[str, str],
    reasons: Mapping[Key, Failure],
    skipped: Mapping[str, Iterable[str]],
    left_out: Mapping[str, int] = _NOTHING,
) -> Iterator[CoverageRow]:
    """One row per API and broker, one per API of each skipped table, and one per list that settings shortened.

    `reasons` holds why an API returned nothing. For an API without items, answers are counted. Opening a connection counts no
    items, so that completeness does not depend on the security protocol.
    """
    itemised = _OF_CONNECTIONS.union(api for api, _ in request_stats.item_counts)
    requested = request_stats.by_api.keys() | request_stats.item_counts.keys()
    apis = {api for api, _ in requested}
    unasked = {key for key in reasons if key not in requested and (key[1] is not None or key[0] not in apis)}
    for key in sorted(requested | unasked, key=_order):
        stats = request_stats.by_api.get(key, ApiStats())
        items = request_stats.item_counts.get(key, ItemCounts())
        if key[0] not in itemised:
            items = ItemCounts(stats.answers, stats.requests - stats.answers)
        failure = reasons.get(key) or reasons.get((key[0], None))
        if failure and failure.is_too_old and stats.requests:
            failure = None  # brokers offer a range of versions of the API
        yield _coverage_row(key, stats, items, trusted.get(key[0]), failure.name if failure else None)
    for table, names in skipped.items():
        for api in names:
            yield _coverage_row((api, None), ApiStats(), ItemCounts(), trusted.get(api), SKIPPED, table)
    for api, items_left_out in left_out.items():
        if items_left_out:
            row = _coverage_row((api, None), ApiStats(), ItemCounts(), trusted.get(api), LEFT_OUT)
            yield replace(row, left_out=items_left_out)


def _coverage_row(
    key: Key, stats: ApiStats, items: ItemCounts, visible: str | None, reason: str | None, table: str | None = None
) -> CoverageRow:
    return CoverageRow(
        api=key[0],
        api_version=stats.api_version,
        broker_id=key[1],
        expected=items.answered + items.failed,
        answered=items.answered,
        failed=items.failed,
        visibility=visible,
        requests=stats.requests,
        bytes=stats.answer_bytes,
        elapsed_ms=stats.elapsed_ms,
        throttle_ms=stats.throttle_ms,
        not_collected_because=reason,
        skipped_table=table,
        bytes_sent=stats.request_bytes,
        most_in_flight=stats.most_in_flight,
        left_out=None,
    )


def _order(key: tuple[str, int | None]) -> tuple[str, int]:
    return key[0], -1 if key[1] is None else key[1]


def not_offered(failures: Iterable[Failure]) -> dict[Key, Failure]:
    """Failures by API and broker of APIs that returned nothing because of how the cluster is set up."""
    return {(failure.api, failure.node_id): failure for failure in failures if _is_not_offered(failure)}


def _is_not_offered(failure: Failure) -> bool:
    """True if the release lacks the API, or the cluster is set up without it. Brokers that offer an API must answer it."""
    return (failure.is_too_old or failure.code in _NOT_OFFERED) and not failure.is_required


def worth_a_row(failures: Iterable[Failure], topology: Topology, request_stats: RequestStats) -> Iterator[Failure]:
    """Failures that become rows: all except what the cluster or a topic does not offer, and partitions of deleted topics."""
    several = list(failures)
    partly = set(partly_offered(several, request_stats))
    for failure in several:
        scope = failure.scope
        deleted = scope.scope_type is ScopeType.PARTITION and scope.topic in topology.changed
        # Records of a message.format.version before 0.10 have no timestamps, so that leaders list no offsets by them.
        without_times = failure.code == UNSUPPORTED_FOR_MESSAGE_FORMAT and not failure.is_required
        if (not _is_not_offered(failure) or failure in partly) and not deleted and not without_times:
            yield failure


def partly_offered(failures: Iterable[Failure], request_stats: RequestStats) -> Iterator[Failure]:
    """Failures of brokers that lack an API which other brokers answered: the cluster is being upgraded.

    A broker that answered an older version of the API lacks the version for some of the items, and not the API.
    """
    answered: defaultdict[str, set[int]] = defaultdict(set)
    for (api, node_id), stats in request_stats.by_api.items():
        if stats.answers and node_id is not None:
            answered[api].add(node_id)
    for failure in failures:
        node_id, others = failure.node_id, answered[failure.api]
        if failure.is_too_old and node_id is not None and others and node_id not in others:
            yield failure


def failure_rows(failures: Iterable[Failure]) -> Iterator[CollectionFailureRow]:
    """One row per API, broker, type of scope and reason: a broker that is down fails for all of its partitions alike."""
    for group in alike_failures(failures):
        yield failure_row(group)


def alike_failures(failures: Iterable[Failure]) -> Iterable[Sequence[Failure]]:
    """Group the failures that share a row."""
    alike: defaultdict[tuple[Any, ...], list[Failure]] = defaultdict(list)
    for failure in failures:
        key = failure.api, failure.node_id, failure.scope.scope_type, failure.code, failure.name, failure.message
        alike[key].append(failure)
    return alike.values()


def failure_row(failures: Sequence[Failure]) -> CollectionFailureRow:
    """The row of failures that differ only in their items."""
    first, scopes = failures[0], [failure.scope for failure in failures]
    broker_id = _common(scope.broker_id for scope in scopes) if first.node_id is None else first.node_id
    return CollectionFailureRow(
        api=first.api,
        broker_id=broker_id,
        scope=_examples(scopes),
        error_code=first.code,
        error_name=first.name,
        attempts=max(failure.attempts for failure in failures),
        elapsed_ms=max(failure.elapsed_ms for failure in failures),
        message=None if first.message is None else first.message[:_LONGEST_MESSAGE],
        scope_type=str(first.scope.scope_type),
        topic=_common(scope.topic for scope in scopes),
        partition=_common(scope.partition for scope in scopes),
        group_id=_common(scope.group_id for scope in scopes),
        member_id=_common(scope.member_id for scope in scopes),
        transactional_id=_common(scope.transactional_id for scope in scopes),
        log_dir=_common(scope.log_dir for scope in scopes),
        items=sum(scope.items for scope in scopes),
    )


def _common(values: Iterable[V | None]) -> V | None:
    """The value that all failures have; None if they differ."""
    distinct = set(values)
    return distinct.pop() if len(distinct) == 1 else None


def _examples(scopes: Sequence[Scope]) -> str:
    """Names of the first scopes, each once: several offsets are requested of one partition."""
    names = list(dict.fromkeys(map(str, scopes)))
    more = len(names) - _SCOPES_SHOWN
    return ", ".join(names[:_SCOPES_SHOWN]) + (f" and {more} more" if more > 0 else "")
