"""Makes the rows of tables coverage and collection_failures: what was asked, what answered, and why the rest did not.

Brokers shorten lists silently for those without the permission, so the authorized-operations bits decide how far a list can be
trusted.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from kafka_lagoon.client.failures import UNSUPPORTED, Failure, Scope, ScopeType
from kafka_lagoon.client.request_stats import ApiStats, ItemCounts, Key, RequestStats
from kafka_lagoon.protocol.acls import (
    ALTER,
    ALTER_CONFIGS,
    CLUSTER_ACTION,
    CREATE,
    DESCRIBE,
    DESCRIBE_CONFIGS,
    IDEMPOTENT_WRITE,
    allows,
)
from kafka_lagoon.protocol.error_codes import (
    DELEGATION_TOKEN_AUTH_DISABLED,
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED,
    SECURITY_DISABLED,
    error_code,
)
from kafka_lagoon.protocol.messages.api_versions import API_VERSIONS
from kafka_lagoon.protocol.messages.describe_delegation_token import DESCRIBE_DELEGATION_TOKEN
from kafka_lagoon.protocol.messages.sasl_authenticate import SASL_AUTHENTICATE
from kafka_lagoon.protocol.messages.sasl_handshake import SASL_HANDSHAKE
from kafka_lagoon.row_classes import ALWAYS, Int32, Int64, column, row
from kafka_lagoon.snapshot.topology import Topology

COMPLETE, FILTERED, UNKNOWN = "complete", "filtered", "unknown"
# OffsetFetch of all topics leaves out those that we may not describe.
TOPIC_LISTS = ("Metadata", "OffsetFetch", "ListTransactions")
_ALL_CLUSTER_OPERATIONS = (
    CREATE,
    ALTER,
    DESCRIBE,
    CLUSTER_ACTION,
    DESCRIBE_CONFIGS,
    ALTER_CONFIGS,
    IDEMPOTENT_WRITE,
)
_OF_CONNECTIONS = {api.name for api in (API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE)}
_LONGEST_MESSAGE = 1024
_SCOPES_SHOWN = 3
SKIPPED, LEFT_OUT = "SKIPPED", "LEFT_OUT"
_NOTHING: Mapping[str, int] = {}
# What a cluster is set up without: its release does not have the API, no authorizer keeps ACLs, delegation tokens are
# switched off, or our listener is one that tells nothing about them.
_NOT_OFFERED = frozenset(
    {
        UNSUPPORTED,
        *(
            error_code(code).name
            for code in (SECURITY_DISABLED, DELEGATION_TOKEN_AUTH_DISABLED, DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
        ),
    }
)

V = TypeVar("V")


@row
class CoverageRow:
    """What was asked and what answered, one row per API, broker and snapshot, and one per API of a skipped table."""

    api: str = column("Kafka's name of the API.")
    api_version: Int32 | None = column("Highest version that was sent; null if no request was.", null_if="requests = 0")
    broker_id: Int32 | None = column(
        "Broker that was asked; null for a bootstrap server whose id is not known, or if no broker was asked.",
        null_if=ALWAYS,
    )
    expected: Int64 = column("Items (brokers, topics, partitions, groups, as the API has them) that were asked about.")
    answered: Int64 = column("Items that came back with a value.")
    failed: Int64 = column("Items that came back with an error, or not at all.")
    visibility: str | None = column(
        "For APIs that list: complete (the permission to see everything is proven), filtered (permissions are missing, so "
        "the list may be short) or unknown; null for other APIs.",
        null_if="api NOT IN ('ListGroups', 'Metadata', 'OffsetFetch', 'DescribeDelegationToken', 'ListTransactions')",
    )
    requests: Int64 = column("Requests sent, retries included.")
    bytes: Int64 = column("Bytes received.")
    elapsed_ms: Int64 = column("Milliseconds from the first request to the last answer.")
    throttle_ms: Int64 = column("Milliseconds for which the broker throttled us.")
    not_collected_because: str | None = column(
        "Why the API gave nothing although nothing failed: UNSUPPORTED_VERSION (the brokers do not offer it), "
        "SECURITY_DISABLED (no authorizer), DELEGATION_TOKEN_AUTH_DISABLED (tokens are switched off), "
        "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED (PLAINTEXT, TLS without a certificate, and logins by token see no tokens), "
        "SKIPPED (by the setting snapshot.skip_tables) or "
        "LEFT_OUT (topics or groups, by settings; see left_out); null if it was asked.",
        null_if=ALWAYS,
    )
    skipped_table: str | None = column(
        "Table that has no rows of this snapshot because it is skipped; null for rows about requests.",
        null_if="not_collected_because IS DISTINCT FROM 'SKIPPED'",
    )
    bytes_sent: Int64 | None = column("Bytes sent. Null in rows of version 0.1.0.", null_if="false")
    most_in_flight: Int32 | None = column(
        "Most requests of a connection that waited for their answers at once when one of this API was sent, itself "
        "included; at most kafka.max_in_flight_requests_per_connection. Null in rows of version 0.1.0.",
        null_if="false",
    )
    left_out: Int64 | None = column(
        "Topics (api Metadata) or groups (ListGroups) that the settings snapshot.topics, exclude_topics, groups and "
        "exclude_groups left out, in a row of their own; null for other rows.",
        null_if="not_collected_because IS DISTINCT FROM 'LEFT_OUT'",
    )


@row
class CollectionFailureRow:
    """What could not be collected, one row per API, broker, type of scope, error and snapshot, with the number of items."""

    api: str = column("Kafka's name of the API.")
    broker_id: Int32 | None = column(
        "Broker that was asked, or that the request was about; null if none could be chosen.", null_if=ALWAYS
    )
    scope: str = column("What the request was about, for people: the first three of the items, and how many more.")
    error_code: Int32 | None = column(
        "Kafka's number of the error; null if there was no answer.", null_if="message IS NOT NULL"
    )
    error_name: str = column("Kafka's name of the error, or ours for a request without an answer.")
    attempts: Int32 = column("How often it was tried, at most.")
    elapsed_ms: Int64 | None = column(
        "Milliseconds until the last of them was given up; null if it was never sent.", null_if="attempts = 0"
    )
    message: str | None = column(
        "What the broker or the network said; null if nothing.", null_if="error_code IS NOT NULL"
    )
    scope_type: str | None = column(
        "cluster, broker, topic, partition, group, member, group_partition (what a group committed for a partition), "
        "transaction, config, log_dir or list (a list as a whole). Null in rows of version 0.1.0.",
        null_if="false",
    )
    topic: str | None = column("Name of the topic; null if the scope has none, or if the items differ.", null_if=ALWAYS)
    partition: Int32 | None = column("Partition number; null likewise.", null_if=ALWAYS)
    group_id: str | None = column("group.id of the group; null likewise.", null_if=ALWAYS)
    member_id: str | None = column("Id of the member; null likewise.", null_if=ALWAYS)
    transactional_id: str | None = column("transactional.id; null likewise.", null_if=ALWAYS)
    log_dir: str | None = column("Path of the log directory; null likewise.", null_if=ALWAYS)
    items: Int64 | None = column(
        "How many items (partitions, groups, topics) failed so. Null in rows of version 0.1.0.",
        null_if="false",
    )


def visibility(cluster_operations: int) -> dict[str, str]:
    """How far each list can be trusted, by API, from the operations that we may do on the cluster.

    DESCRIBE on the cluster shows all groups. Nothing proves that all topics are shown, except that we may do everything:
    a super user, or a cluster without an authorizer. Nothing at all proves that all delegation tokens are.
    """
    groups = {True: COMPLETE, False: FILTERED, None: UNKNOWN}[allows(cluster_operations, DESCRIBE)]
    topics = COMPLETE if all(allows(cluster_operations, one) for one in _ALL_CLUSTER_OPERATIONS) else UNKNOWN
    return {"ListGroups": groups, **dict.fromkeys(TOPIC_LISTS, topics), DESCRIBE_DELEGATION_TOKEN.name: UNKNOWN}


def list_note(cluster_operations: int, api: str, what: str) -> str | None:
    """What to say of a list that brokers may have shortened without an error; None if it is proven complete."""
    trusted = visibility(cluster_operations).get(api, UNKNOWN)
    if trusted == COMPLETE:
        return None
    perhaps = "perhaps " if trusted == UNKNOWN else ""
    return f"{what}: {perhaps}not all of them: brokers leave out those that we may not describe"


def coverage_rows(
    request_stats: RequestStats,
    trusted: Mapping[str, str],
    reasons: Mapping[Key, str],
    skipped: Mapping[str, Iterable[str]],
    left_out: Mapping[str, int] = _NOTHING,
) -> Iterator[CoverageRow]:
    """One row per API and broker, one per API of each table that was skipped, by name, and one per list that was shortened.

    `reasons` says why an API gave nothing. An API without items counts its answers. To open a connection asks about no item:
    how complete a snapshot is does not depend on the security protocol.
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
        reason = reasons.get(key) or reasons.get((key[0], None))
        if reason == UNSUPPORTED and stats.requests:
            reason = None  # brokers offer some versions of it
        yield _coverage_row(key, stats, items, trusted.get(key[0]), reason)
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


def not_offered(failures: Iterable[Failure]) -> dict[Key, str]:
    """Why APIs gave nothing, by API and broker, where that is how the cluster is set up."""
    return {(failure.api, failure.node_id): failure.name for failure in failures if _is_not_offered(failure)}


def _is_not_offered(failure: Failure) -> bool:
    return failure.name in _NOT_OFFERED and not failure.is_required


def worth_a_row(failures: Iterable[Failure], topology: Topology) -> Iterator[Failure]:
    """Failures of the collection: not what the cluster does not offer, nor partitions of topics deleted meanwhile."""
    for failure in failures:
        scope = failure.scope
        deleted = scope.scope_type is ScopeType.PARTITION and scope.topic in topology.changed
        if not _is_not_offered(failure) and not deleted:
            yield failure


def failure_rows(failures: Iterable[Failure]) -> Iterator[CollectionFailureRow]:
    """One row per API, broker, type of scope and reason: a broker that is down fails for all of its partitions alike."""
    for group in alike_failures(failures):
        yield failure_row(group)


def alike_failures(failures: Iterable[Failure]) -> Iterable[Sequence[Failure]]:
    """The failures that share a row."""
    alike: defaultdict[tuple[Any, ...], list[Failure]] = defaultdict(list)
    for failure in failures:
        key = failure.api, failure.node_id, failure.scope.scope_type, failure.code, failure.name, failure.message
        alike[key].append(failure)
    return alike.values()


def failure_row(failures: Sequence[Failure]) -> CollectionFailureRow:
    """The row of failures that are alike."""
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
    """The value that all have; None if they differ."""
    distinct = set(values)
    return distinct.pop() if len(distinct) == 1 else None


def _examples(scopes: Sequence[Scope]) -> str:
    shown = ", ".join(str(scope) for scope in scopes[:_SCOPES_SHOWN])
    more = len(scopes) - _SCOPES_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown
