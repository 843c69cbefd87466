"""Splits requests about many items over the brokers that answer for them, and gathers answers and failures.

A stale leader or coordinator is looked up again, all under one deadline. Every item comes back with an answer or with a
`Failure`; no list is silently shorter than what was asked for.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from kafka_lagoon.client.broker import Call, Reply, may_have_arrived
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import UNSUPPORTED, Failure, Scope, failure_of
from kafka_lagoon.client.routes import Route
from kafka_lagoon.clock import Deadline, backoff
from kafka_lagoon.errors import (
    AddressRefused,
    AuthenticationFailed,
    BrokerError,
    ConnectionFailed,
    DeadlinePassed,
    PipelineError,
    UnsupportedVersion,
    WireError,
)
from kafka_lagoon.protocol.error_codes import (
    NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    REQUEST_TIMED_OUT,
    UNKNOWN_TOPIC_ID,
    UNKNOWN_TOPIC_OR_PARTITION,
    Refresh,
    error_code,
)
from kafka_lagoon.wire.schema import Api, Versions

I = TypeVar("I", bound=Hashable)  # noqa: E741  an item: a partition, a group, a broker
A = TypeVar("A")
R = TypeVar("R")

_GONE = frozenset({UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID})  # not yet known to this broker, or deleted
_GONE_ROUNDS = 3
_NOBODY = (None, 0)
CHUNK = 10_000  # items in one request: some 300 kB, far below the brokers' socket.request.max.bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardedRequest(Generic[I, A]):
    """A request of one API about many items: `build` makes the message for some of them, `read` reads their answers.

    `read` yields (item, error code, answer or None); items that it does not yield count as not answered. A request with
    `once` is not sent again about an item after it may have been carried out.
    """

    api: Api[Any, Any]
    items: Sequence[I]
    build: Callable[[Sequence[I]], object]
    read: Callable[[Any, Sequence[I]], Iterable[tuple[I, int, A | None]]]
    chunk: int = CHUNK
    within: Versions | None = None
    once: bool = False


@dataclass(frozen=True, slots=True)
class Source:
    """The broker that answered, and when its response was received (epoch milliseconds)."""

    node_id: int
    read_at_ms: int


@dataclass(frozen=True, slots=True)
class Gathered(Generic[I, A]):
    """For every item of a request an answer and its source, or a failure."""

    answers: Mapping[I, A]
    sources: Mapping[I, Source]
    failures: Mapping[I, Failure]


@dataclass(slots=True)
class _Gathering(Generic[I, A]):
    """A sharded request in progress: the open items with the number of their attempts, and the last refusal of each."""

    request: ShardedRequest[I, A]
    open: dict[I, int]
    refusals: dict[I, tuple[int | None, PipelineError | int]] = field(default_factory=dict)
    answers: dict[I, A] = field(default_factory=dict)
    sources: dict[I, Source] = field(default_factory=dict)
    failures: dict[I, Failure] = field(default_factory=dict)
    unsure: set[I] = field(default_factory=set)  # items that may have been processed without an answer


def gather(
    cluster: Cluster, route: Route[I], requests: Sequence[ShardedRequest[I, Any]], deadline: Deadline
) -> list[Gathered[I, Any]]:
    """Send all requests, pipelined to each broker and to all brokers at the same time; retry stale and transient errors.

    Returns one `Gathered` per request. Every item is in its answers or in its failures, exactly once.
    """
    deadline = deadline.within(cluster.settings.default_api_timeout_ms)
    started = cluster.clock.monotonic()
    gatherings = [_Gathering(request, dict.fromkeys(request.items, 0)) for request in requests]
    pauses = backoff(cluster.settings.retry_backoff_ms, cluster.settings.retry_backoff_max_ms)
    while True:
        _ask_round(cluster, route, gatherings, deadline)
        _reconcile(cluster, route, gatherings, started)
        if not any(gathering.open for gathering in gatherings):
            break
        if not deadline.pause(next(pauses)):
            _give_up(cluster, route, gatherings, started)
            break
        _refresh(route, gatherings, deadline)
    for gathering in gatherings:
        _count(cluster, gathering)
    return [Gathered(gathering.answers, gathering.sources, gathering.failures) for gathering in gatherings]


def _ask_round(cluster: Cluster, route: Route[I], gatherings: Sequence[_Gathering[I, Any]], deadline: Deadline) -> None:
    batches: dict[int, list[tuple[_Gathering[I, Any], list[I]]]] = {}
    for gathering in gatherings:
        for node_id, items in _by_node(route, gathering).items():
            for start in range(0, len(items), gathering.request.chunk):
                batches.setdefault(node_id, []).append((gathering, items[start : start + gathering.request.chunk]))
    calls = {
        node_id: [_call(gathering.request, items) for gathering, items in batch] for node_id, batch in batches.items()
    }
    for node_id, replies in cluster.ask_brokers(calls, deadline).items():
        for (gathering, items), reply in zip(batches[node_id], replies, strict=True):
            _take(gathering, items, node_id, reply)


def _call(request: ShardedRequest[I, Any], items: Sequence[I]) -> Call:
    return Call(request.api, request.build(items), request.within, request.once)


def _by_node(route: Route[I], gathering: _Gathering[I, Any]) -> dict[int, list[I]]:
    by_node: dict[int, list[I]] = {}
    node_of = route.node_of
    for item in gathering.open:
        gathering.open[item] += 1
        node_id = node_of(item)
        if node_id is None:
            gathering.refusals[item] = (None, route.unroutable_code)
        else:
            by_node.setdefault(node_id, []).append(item)
    return by_node


def _take(gathering: _Gathering[I, Any], items: Sequence[I], node_id: int, reply: Reply) -> None:
    """Sort one reply into answers and refusals; an item that the response leaves out counts as refused.

    An error that a broker gave for an item is kept when the deadline passes later: it says more than DeadlinePassed.
    """
    if isinstance(reply.outcome, PipelineError):
        for item in items:
            if not (isinstance(reply.outcome, DeadlinePassed) and gathering.refusals.get(item, _NOBODY)[0] == node_id):
                gathering.refusals[item] = (node_id, reply.outcome)
        return
    source = Source(node_id, reply.at_ms)
    missing = set(items)
    for item, code, answer in gathering.request.read(reply.outcome, items):
        if item not in missing:
            continue
        missing.discard(item)
        if code:
            gathering.refusals[item] = (node_id, code)
        else:
            gathering.answers[item] = answer
            gathering.sources[item] = source
            del gathering.open[item]
    for item in missing:
        gathering.refusals[item] = (
            node_id,
            ConnectionFailed(f"broker {node_id}", "exchange", "the answer leaves it out"),
        )


def _reconcile(cluster: Cluster, route: Route[I], gatherings: Sequence[_Gathering[I, Any]], started: float) -> None:
    """Turn refusals into failures where another request would not help, or must not be sent."""
    for gathering in gatherings:
        for item, attempts in list(gathering.open.items()):
            node_id, refusal = gathering.refusals[item]
            if _may_be_done(refusal):
                gathering.unsure.add(item)
            if node_id is None:
                is_final = attempts > route.unroutable_rounds
            elif isinstance(refusal, int):
                is_final = not error_code(refusal).retriable or (refusal in _GONE and attempts > _GONE_ROUNDS)
            else:
                is_final = _is_final(refusal) or node_id in cluster.unreachable
            if is_final or (gathering.request.once and item in gathering.unsure):
                _fail(cluster, route, gathering, item, started)


def _is_final(refusal: PipelineError) -> bool:
    """Whether the cause is not the connection: an error response, our credentials, or an address that is not allowed."""
    return isinstance(refusal, AuthenticationFailed | AddressRefused) or not isinstance(refusal, ConnectionFailed)


def _may_be_done(refusal: PipelineError | int) -> bool:
    """Whether the broker may have carried out the request, at least in part, without saying so."""
    if isinstance(refusal, int):
        return refusal in (REQUEST_TIMED_OUT, NOT_ENOUGH_REPLICAS_AFTER_APPEND)
    return may_have_arrived(refusal)


def _give_up(cluster: Cluster, route: Route[I], gatherings: Sequence[_Gathering[I, Any]], started: float) -> None:
    """Fail what is open after the deadline has passed; brokers that never answered are not waited for again."""
    for gathering in gatherings:
        for item in list(gathering.open):
            node_id, refusal = gathering.refusals[item]
            if node_id is not None and isinstance(refusal, ConnectionFailed):
                cluster.unreachable.add(node_id)
            _fail(cluster, route, gathering, item, started)


def _refresh(route: Route[I], gatherings: Sequence[_Gathering[I, Any]], deadline: Deadline) -> None:
    stale = [item for gathering in gatherings for item in gathering.open if _is_stale(gathering.refusals[item][1])]
    if not stale:
        return
    try:
        route.refresh(list(dict.fromkeys(stale)), deadline)
    except (ConnectionFailed, BrokerError, UnsupportedVersion, WireError):
        return  # the next round asks the same brokers and keeps their refusals; the deadline ends it


def _is_stale(refusal: PipelineError | int) -> bool:
    if isinstance(refusal, int):
        return error_code(refusal).refresh is not Refresh.NOTHING
    return True


def _fail(cluster: Cluster, route: Route[I], gathering: _Gathering[I, Any], item: I, started: float) -> None:
    node_id, refusal = gathering.refusals[item]
    gathering.failures[item] = failure_of(
        gathering.request.api,
        route.scope_of(item),
        refusal,
        node_id=node_id,
        attempts=gathering.open.pop(item),
        elapsed_ms=int((cluster.clock.monotonic() - started) * 1000),
        may_be_done=item in gathering.unsure,
    )


def ask_cluster(
    cluster: Cluster,
    api: Api[Any, R],
    request: object,
    scope: Scope,
    deadline: Deadline,
    within: Versions | None = None,
) -> R | Failure:
    """The response of any broker to a request that is not split, or why there is none."""
    started = cluster.clock.monotonic()
    try:
        answer = cluster.ask_any(api, request, deadline, within)
    except PipelineError as error:
        elapsed_ms = int((cluster.clock.monotonic() - started) * 1000)
        return failure_of(api, scope, error, elapsed_ms=elapsed_ms)
    code = getattr(answer, "error_code", 0)
    return failure_of(api, scope, code) if code else answer


def _count(cluster: Cluster, gathering: _Gathering[I, Any]) -> None:
    item_counts, api = cluster.request_stats.item_counts, gathering.request.api.name
    for node_id, answered in Counter(source.node_id for source in gathering.sources.values()).items():
        item_counts[api, node_id].answered += answered
    for failure in gathering.failures.values():
        item_counts[api, failure.node_id].failed += failure.name != UNSUPPORTED  # then no request was sent
