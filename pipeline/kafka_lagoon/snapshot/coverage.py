"""RequestStats and failures in, rows of coverage and collection_failures out: how much of what was asked was answered.

Guards one rule: no count without its completeness. Brokers shorten lists silently for those without the right, so the
authorized-operations bits decide how much a list may be trusted.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kafka_lagoon.client.failures import Failure
from kafka_lagoon.client.request_stats import ApiStats, ItemCounts, RequestStats
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
from kafka_lagoon.protocol.messages.api_versions import API_VERSIONS
from kafka_lagoon.protocol.messages.sasl_authenticate import SASL_AUTHENTICATE
from kafka_lagoon.protocol.messages.sasl_handshake import SASL_HANDSHAKE
from kafka_lagoon.snapshot.state_rows import CollectionFailureRow, CoverageRow

COMPLETE, FILTERED, UNKNOWN = "complete", "filtered", "unknown"
TOPIC_LISTS = ("Metadata", "OffsetFetch")  # OffsetFetch of all topics leaves out those that we may not describe
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


def visibility(cluster_operations: int) -> dict[str, str]:
    """How far each list can be trusted, by API, from the operations that we may do on the cluster.

    DESCRIBE on the cluster shows all groups. Nothing proves that all topics are shown, except that we may do everything:
    a super user, or a cluster without an authorizer.
    """
    groups = {True: COMPLETE, False: FILTERED, None: UNKNOWN}[allows(cluster_operations, DESCRIBE)]
    topics = COMPLETE if all(allows(cluster_operations, one) for one in _ALL_CLUSTER_OPERATIONS) else UNKNOWN
    return {"ListGroups": groups, **dict.fromkeys(TOPIC_LISTS, topics)}


def list_note(cluster_operations: int, api: str, what: str) -> str | None:
    """What to say of a list that brokers may have shortened without an error; None if it is proven complete."""
    trusted = visibility(cluster_operations).get(api, UNKNOWN)
    if trusted == COMPLETE:
        return None
    perhaps = "perhaps " if trusted == UNKNOWN else ""
    return f"{what}: {perhaps}not all of them: brokers leave out those that we may not describe"


def coverage_rows(request_stats: RequestStats, trusted: Mapping[str, str]) -> Iterator[CoverageRow]:
    """One row per API and broker that was asked; an API that is asked as a whole counts its answers as items.

    To open a connection asks about no item: how complete a snapshot is does not depend on the way in.
    """
    itemised = _OF_CONNECTIONS.union(api for api, _ in request_stats.item_counts)
    for key in sorted(request_stats.by_api.keys() | request_stats.item_counts.keys(), key=_order):
        asked = request_stats.by_api.get(key, ApiStats())
        items = request_stats.item_counts.get(key, ItemCounts())
        if key[0] not in itemised:
            items = ItemCounts(asked.answers, asked.requests - asked.answers)
        yield CoverageRow(
            api=key[0],
            api_version=asked.api_version,
            broker_id=key[1],
            expected=items.answered + items.failed,
            answered=items.answered,
            failed=items.failed,
            visibility=trusted.get(key[0]),
            requests=asked.requests,
            bytes=asked.answer_bytes,
            elapsed_ms=asked.elapsed_ms,
            throttle_ms=asked.throttle_ms,
        )


def _order(key: tuple[str, int | None]) -> tuple[str, int]:
    return key[0], -1 if key[1] is None else key[1]


def failure_rows(failures: Iterable[Failure]) -> Iterator[CollectionFailureRow]:
    """One row per broker and reason, for a broker that is down fails for all of its partitions alike."""
    alike: defaultdict[tuple[Any, ...], list[Failure]] = defaultdict(list)
    for failure in failures:
        alike[failure.api, failure.node_id, failure.code, failure.name, failure.message].append(failure)
    for (api, node_id, code, name, message), some in alike.items():
        yield CollectionFailureRow(
            api=api,
            broker_id=node_id,
            scope=_scopes([str(failure.scope) for failure in some]),
            error_code=code,
            error_name=name,
            attempts=max(failure.attempts for failure in some),
            elapsed_ms=max(failure.elapsed_ms for failure in some),
            message=None if message is None else message[:_LONGEST_MESSAGE],
        )


def _scopes(scopes: Sequence[str]) -> str:
    shown = ", ".join(scopes[:_SCOPES_SHOWN])
    more = len(scopes) - _SCOPES_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown
