"""Splits requests about many items over the brokers that answer for them, and gathers answers and failures.

Stale leaders and coordinators are looked up again, all under one deadline. Every item comes back with an answer or with a
`Failure`; no list is silently shorter than the request. Nothing is kept here of an item that was answered, so that a request
about a hundred thousand items costs no more memory than its `Intake` keeps.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, Generic, Protocol, TypeVar

from kafka_lagoon.client.absence import PRESENT, Absence
from kafka_lagoon.client.broker import Call, Reply, may_have_arrived
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure, Scope, failure_of
from kafka_lagoon.client.intake import AnswersByItem, Intake, ItemAnswer, Source
from kafka_lagoon.clock import Deadline, backoff
from kafka_lagoon.errors import (
    AddressRefused,
    AuthenticationFailed,
    BrokerError,
    ConnectionFailed,
    DeadlinePassed,
    FrameTooLarge,
    PipelineError,
    Throttled,
    UnsupportedVersion,
    WireError,
)
from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol.error_codes import (
    COORDINATOR_NOT_AVAILABLE,
    NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    OFFSET_NOT_AVAILABLE,
    REQUEST_TIMED_OUT,
    Refresh,
    error_code,
)
from kafka_lagoon.wire.schema import Api, Versions

I = TypeVar("I", bound=Hashable)  # noqa: E741  an item: a partition, a group, a broker
J = TypeVar("J", contravariant=True)
A = TypeVar("A")
R = TypeVar("R")

_NOBODY = (None, 0)
# Error codes after which a broker may have carried out the request, or may still do so. Coordinators answer a write that
# followers were too slow to replicate by COORDINATOR_NOT_AVAILABLE, and keep it in their log.
_MAY_BE_DONE = frozenset({REQUEST_TIMED_OUT, NOT_ENOUGH_REPLICAS_AFTER_APPEND, COORDINATOR_NOT_AVAILABLE})
# Error codes that leaders give for a moment after their election, or as long as too few replicas are in sync.
_MAY_LAST = frozenset({OFFSET_NOT_AVAILABLE})
_LASTS_AFTER = 1 / 3  # of the caller's time: others may still have to be asked in the rest
CHUNK = 10_000  # items in one request: some 300 kB, far below the brokers' socket.request.max.bytes


class Route(Protocol[J]):
    """Finds the broker for a request about an item."""

    unroutable_code: int  # the error code of an item whose broker is not known
    unroutable_rounds: int  # how often in a row such an item is looked up again before it fails

    def node_of(self, item: J) -> int | None:
        """The id of the broker to ask, None if it is not known."""

    def scope_of(self, item: J) -> Scope:
        """The scope of a failure of the item."""

    def refresh(self, items: Sequence[J], deadline: Deadline) -> "Mapping[Any, Failure]":
        """Look up the brokers of these items again; returns the items that the brokers refuse for good, and why."""


@frozen
class ShardedRequest(Generic[I, A]):
    """A request of one API about many items: `build` makes the message for some of them, `read` reads their answers.

    `read` yields (item, error code, answer or None), and a fourth value where the API has error messages. Items that it does
    not yield count as not answered. An `intake` takes whole responses instead. A request with `once` is not sent again about
    an item after it may have been carried out, and no request is after a `final` error code. After a `begun` error code it is
    sent again to learn the end of what it may have begun. Every broker of the supported releases offers a `required` API, so a
    broker that does not has failed. `has_distinct_items`: no item is there twice.
    """

    api: Api[Any, Any]
    items: Sequence[I]
    build: Callable[[Sequence[I]], object]
    read: Callable[[Any, Sequence[I]], Iterable[ItemAnswer[I, A]]] | None = None
    intake: Intake[I, A] | None = None
    chunk: int = CHUNK
    within: Versions | None = None
    once: bool = False
    required: bool = False
    has_distinct_items: bool = False
    final: frozenset[int] = frozenset()  # beside the codes that are never retriable
    begun: frozenset[int] = frozenset()


@frozen(kw_only=False)
class Gathered(Generic[I, A]):
    """For every item of a request an answer and its source, or a failure."""

    answers: Mapping[I, A]
    sources: Mapping[I, Source]
    failures: Mapping[I, Failure]


@dataclass(slots=True)
class _Gathering(Generic[I, A]):
    """A sharded request in progress: the items without an answer, which every round requests, and their last refusals."""

    request: ShardedRequest[I, A]
    intake: Intake[I, A]
    open: Sequence[I]
    refused: list[I] = field(default_factory=list)  # in this round
    refusals: dict[I, tuple[int | None, PipelineError | int]] = field(default_factory=dict)
    absences: dict[I, Absence] = field(default_factory=dict)
    failures: dict[I, Failure] = field(default_factory=dict)
    answered: Counter[int] = field(default_factory=Counter)  # how many items by broker
    unsure: set[I] = field(default_factory=set)  # items that may have been processed without an answer
    begun: set[I] = field(default_factory=set)  # items that a broker may have begun to process
    waiting_since: dict[I, float] = field(default_factory=dict)  # monotonic, of items with an error that may last

    def refuse(self, item: I, node_id: int | None, refusal: PipelineError | int) -> None:
        """Keep why an item has no answer yet."""
        self.refusals[item] = (node_id, refusal)
        self.absences[item] = self.absences.get(item, PRESENT).after(node_id, refusal)
        self.refused.append(item)


def gather(
    cluster: Cluster, route: Route[I], requests: Sequence[ShardedRequest[I, Any]], deadline: Deadline
) -> list[Gathered[I, Any]]:
    """Send all requests, pipelined to each broker and to all brokers at the same time; retry stale and transient errors.

    Returns one `Gathered` per request. Every item is in its answers or in its failures, exactly once.
    """
    longest_s = deadline.budget_ms / 1000 * _LASTS_AFTER
    deadline = deadline.within(cluster.settings.default_api_timeout_ms)
    started = cluster.clock.monotonic()
    gatherings = _gatherings(requests)
    pauses = backoff(cluster.settings.retry_backoff_ms, cluster.settings.retry_backoff_max_ms)
    for attempts in count(1):
        _ask_round(cluster, route, gatherings, deadline)
        _reconcile(cluster, route, gatherings, attempts, started, longest_s)
        if not any(gathering.open for gathering in gatherings):
            break
        if not deadline.pause(next(pauses)):
            _give_up(cluster, route, gatherings, attempts, started)
            break
        _refresh(cluster, route, gatherings, deadline, attempts, started)
    for gathering in gatherings:
        _count(cluster, gathering)
    return [
        Gathered(gathering.intake.answers, gathering.intake.sources, gathering.failures) for gathering in gatherings
    ]


def _gatherings(requests: Sequence[ShardedRequest[I, Any]]) -> list[_Gathering[I, Any]]:
    """Every item is open at first, once. Neighbouring requests about the same items share the list."""
    gatherings: list[_Gathering[I, Any]] = []
    given: Sequence[I] = ()
    distinct: list[I] = []
    for request in requests:
        if request.items != given:
            given = request.items
            distinct = list(given if request.has_distinct_items else dict.fromkeys(given))
        intake = request.intake or AnswersByItem(request.read or _nothing)
        gatherings.append(_Gathering(request, intake, distinct))
    return gatherings


def _nothing(_response: Any, _items: Sequence[Any]) -> tuple[()]:
    """Read a response that has no content of interest."""
    return ()


@frozen(kw_only=False)
class _Division(Generic[I]):
    """Items in chunks by the broker to ask. The broker of the `unroutable` ones is not known."""

    items: Sequence[I]
    chunk_size: int
    chunks: Mapping[int, Sequence[Sequence[I]]]
    unroutable: Sequence[I]

    def is_of(self, gathering: _Gathering[I, Any]) -> bool:
        """True if the items that are open are these; lists of the same objects are compared in 5 ns per item."""
        return gathering.request.chunk == self.chunk_size and gathering.open == self.items


@frozen(kw_only=False)
class _ChunkCall(Generic[I]):
    """One request of a gathering to one broker, about a chunk of its items."""

    gathering: _Gathering[I, Any]
    items: Sequence[I]

    def call(self) -> Call:
        """Build the request."""
        request = self.gathering.request
        return Call(request.api, request.build(self.items), request.within, request.once)

    def halves(self) -> "Sequence[_ChunkCall[I]]":
        """Two requests, each for half of the items."""
        middle = len(self.items) // 2
        return [_ChunkCall(self.gathering, some) for some in (self.items[:middle], self.items[middle:])]


class _Calls(Mapping[int, Sequence[Call]], Generic[I]):
    """The calls to each broker. Requests are built when the broker is asked: those about a million items take 150 MB."""

    def __init__(self, by_broker: Mapping[int, Sequence[_ChunkCall[I]]]) -> None:
        self._by_broker = by_broker

    def __getitem__(self, node_id: int) -> Sequence[Call]:
        return [chunk_call.call() for chunk_call in self._by_broker[node_id]]

    def __iter__(self) -> Iterator[int]:
        return iter(self._by_broker)

    def __len__(self) -> int:
        return len(self._by_broker)


def _ask_round(cluster: Cluster, route: Route[I], gatherings: Sequence[_Gathering[I, Any]], deadline: Deadline) -> None:
    by_broker: defaultdict[int, list[_ChunkCall[I]]] = defaultdict(list)
    division: _Division[I] | None = None
    for gathering in gatherings:
        if division is None or not division.is_of(gathering):  # neighbouring requests often have the same items
            division = _divide(route, gathering)
        for item in division.unroutable:
            gathering.refuse(item, None, route.unroutable_code)
        for node_id, chunks in division.chunks.items():
            by_broker[node_id] += [_ChunkCall(gathering, chunk) for chunk in chunks]
    while by_broker:
        halves: defaultdict[int, list[_ChunkCall[I]]] = defaultdict(list)
        for node_id, replies in cluster.ask_brokers(_Calls(by_broker), deadline, is_brief=True):
            for chunk_call, reply in zip(by_broker[node_id], replies, strict=True):
                if _may_be_halved(chunk_call, reply):
                    halves[node_id] += chunk_call.halves()
                else:
                    _take(chunk_call.gathering, chunk_call.items, node_id, reply)
        by_broker = halves
    for gathering in gatherings:
        gathering.open, gathering.refused = gathering.refused, []


def _divide(route: Route[I], gathering: _Gathering[I, Any]) -> _Division[I]:
    by_node: defaultdict[int | None, list[I]] = defaultdict(list)
    node_of, size = route.node_of, gathering.request.chunk
    for item in gathering.open:
        by_node[node_of(item)].append(item)
    unroutable = by_node.pop(None, [])
    chunks = {
        node_id: [items[start : start + size] for start in range(0, len(items), size)]
        for node_id, items in by_node.items()
        if node_id is not None
    }
    return _Division(gathering.open, size, chunks, unroutable)


def _may_be_halved(chunk_call: _ChunkCall[I], reply: Reply) -> bool:
    """True if the answer was too large, and the request can be sent again in two parts."""
    is_too_large = isinstance(reply.outcome, FrameTooLarge) and reply.outcome.is_beyond_limit
    return is_too_large and len(chunk_call.items) > 1 and not chunk_call.gathering.request.once


def _take(gathering: _Gathering[I, Any], items: Sequence[I], node_id: int, reply: Reply) -> None:
    """Sort one reply into answers and refusals; an item that the response leaves out counts as refused.

    An error that a broker gave for an item is kept when the deadline passes later: it says more than DeadlinePassed.
    """
    if isinstance(reply.outcome, PipelineError):
        for item in items:
            last = gathering.refusals.get(item, _NOBODY)
            says_more = isinstance(reply.outcome, DeadlinePassed) and last[0] == node_id
            if may_have_arrived(reply.outcome):
                gathering.unsure.add(item)  # also where the error of an earlier answer is kept
            gathering.refuse(item, node_id, last[1] if says_more else reply.outcome)
        return
    refused = gathering.intake.take(reply.outcome, items, Source(node_id, reply.at_ms))
    if len(refused) < len(items):
        gathering.answered[node_id] += len(items) - len(refused)
    throttle_ms = 0 if gathering.request.once else getattr(reply.outcome, "throttle_time_ms", 0)
    for item, code in refused.items():
        if code is not None:
            gathering.refuse(item, node_id, code)
        elif throttle_ms:
            gathering.refuse(item, node_id, Throttled(node_id, throttle_ms))
        else:
            gathering.refuse(
                item, node_id, ConnectionFailed(f"broker {node_id}", "exchange", "the answer leaves it out")
            )


def _reconcile(
    cluster: Cluster,
    route: Route[I],
    gatherings: Sequence[_Gathering[I, Any]],
    attempts: int,
    started: float,
    longest_s: float,
) -> None:
    """Turn refusals into failures where another request would not help, or must not be sent.

    An error that may last is one after `longest_s` seconds.
    """
    now = cluster.clock.monotonic()
    for gathering in gatherings:
        still_open = []
        for item in gathering.open:
            node_id, refusal = gathering.refusals[item]
            if node_id is not None and _may_be_done(refusal):
                gathering.unsure.add(item)
            if isinstance(refusal, int) and refusal in gathering.request.begun:
                gathering.begun.add(item)
            if node_id is None:
                is_final = gathering.absences[item].unroutable > route.unroutable_rounds
            elif isinstance(refusal, int):
                is_final = not error_code(refusal).retriable or refusal in gathering.request.final
                is_final = is_final or gathering.absences[item].is_gone
                if refusal in _MAY_LAST:
                    is_final = now - gathering.waiting_since.setdefault(item, now) >= longest_s
            elif isinstance(refusal, Throttled):
                is_final = False
            else:
                is_final = _is_final(refusal) or cluster.brokers[node_id].address in cluster.unreachable
            if is_final or (gathering.request.once and item in gathering.unsure):
                _fail(cluster, route, gathering, item, attempts, started)
            else:
                still_open.append(item)
        gathering.open = still_open


def _is_final(refusal: PipelineError) -> bool:
    """True if the cause is not the connection: an error response, our credentials, or an address that is not allowed."""
    return isinstance(refusal, AuthenticationFailed | AddressRefused) or not isinstance(refusal, ConnectionFailed)


def _may_be_done(refusal: PipelineError | int) -> bool:
    """True if the broker may have carried out the request, at least in part, without answering so."""
    return refusal in _MAY_BE_DONE if isinstance(refusal, int) else may_have_arrived(refusal)


def _give_up(
    cluster: Cluster, route: Route[I], gatherings: Sequence[_Gathering[I, Any]], attempts: int, started: float
) -> None:
    """Fail the open items after the deadline has passed; brokers that never answered get one attempt from now on."""
    for gathering in gatherings:
        for item in gathering.open:
            node_id, refusal = gathering.refusals[item]
            if node_id is not None and isinstance(refusal, ConnectionFailed):
                cluster.unreachable.add(cluster.brokers[node_id].address)
            _fail(cluster, route, gathering, item, attempts, started)


def _refresh(
    cluster: Cluster,
    route: Route[I],
    gatherings: Sequence[_Gathering[I, Any]],
    deadline: Deadline,
    attempts: int,
    started: float,
) -> None:
    """Look up brokers that may have changed. Items whose broker no answer will name fail with the reason of the look-up."""
    stale = [item for gathering in gatherings for item in gathering.open if _is_stale(gathering.refusals[item][1])]
    if not stale:
        return
    try:
        refused = route.refresh(list(dict.fromkeys(stale)), deadline)
    except (ConnectionFailed, BrokerError, UnsupportedVersion, WireError):
        return  # the next round asks the same brokers and keeps their refusals; the deadline ends it
    for gathering in gatherings if refused else ():
        for item in gathering.open:
            if item in refused:
                _keep_failure(cluster, gathering, item, refused[item], attempts, started)
        gathering.open = [item for item in gathering.open if item not in refused]


def _is_stale(refusal: PipelineError | int) -> bool:
    if isinstance(refusal, int):
        return error_code(refusal).refresh is not Refresh.NOTHING
    return not isinstance(refusal, Throttled)


def _fail(
    cluster: Cluster, route: Route[I], gathering: _Gathering[I, Any], item: I, attempts: int, started: float
) -> None:
    node_id, refusal = gathering.refusals[item]
    explanation = gathering.intake.messages.get(item)
    failure = failure_of(gathering.request.api, route.scope_of(item), refusal, node_id=node_id, explanation=explanation)
    _keep_failure(cluster, gathering, item, failure, attempts, started)


def _keep_failure(
    cluster: Cluster, gathering: _Gathering[I, Any], item: I, failure: Failure, attempts: int, started: float
) -> None:
    gathering.failures[item] = replace(
        failure,
        attempts=attempts,
        elapsed_ms=int((cluster.clock.monotonic() - started) * 1000),
        may_be_done=item in gathering.unsure or item in gathering.begun,
        is_required=gathering.request.required,
    )


def merged(several: Iterable[Gathered[I, A]]) -> Gathered[I, A]:
    """The answers and failures of requests about distinct items."""
    answers: dict[I, A] = {}
    sources: dict[I, Source] = {}
    failures: dict[I, Failure] = {}
    for gathered in several:
        answers.update(gathered.answers)
        sources.update(gathered.sources)
        failures.update(gathered.failures)
    return Gathered(answers, sources, failures)


def _count(cluster: Cluster, gathering: _Gathering[I, Any]) -> None:
    item_counts, api = cluster.request_stats.item_counts, gathering.request.api.name
    for node_id, answered in gathering.answered.items():
        item_counts[api, node_id].answered += answered
    for failure in gathering.failures.values():
        item_counts[api, failure.node_id].failed += not failure.is_too_old  # then no request was sent
