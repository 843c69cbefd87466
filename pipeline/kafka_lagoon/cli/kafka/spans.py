"""Partitions and `--from` or `--last` in, the offsets to read out; and what cannot be read, which others add to.

Guards one rule: a partition of which nobody says where its log begins and ends is told beside the records of the others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from kafka_lagoon.admin.offsets import offsets_at
from kafka_lagoon.cli.kafka.verb import Context
from kafka_lagoon.client.cluster import Cluster, TopicPartition
from kafka_lagoon.client.failures import Failure, Scope, own_failure
from kafka_lagoon.clock import Deadline
from kafka_lagoon.fetch.logs import ask_logs
from kafka_lagoon.fetch.split import READ_COMMITTED
from kafka_lagoon.protocol.messages import list_offsets as messages
from kafka_lagoon.protocol.messages.fetch import FETCH
from kafka_lagoon.times import Moment, parse_moment


@dataclass(frozen=True, slots=True)
class Span:
    """Offsets `start` to `end` (not included); behind `stable_end` transactions may be open."""

    start: int
    end: int
    stable_end: int


@dataclass(slots=True)
class Missing:
    """What was not read, and why."""

    failures: list[Failure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def fail(self, scope: Scope, name: str, message: str | None) -> None:
        """Note something that could not be read."""
        self.failures.append(own_failure(FETCH, scope, name, message))


def logs(
    cluster: Cluster, partitions: Sequence[TopicPartition], missing: Missing, isolation_level: str, deadline: Deadline
) -> dict[TopicPartition, Span]:
    """Where each log begins and ends for such a reader; what is not known is missing."""
    found, failures = ask_logs(cluster, partitions, isolation_level, deadline)
    missing.failures += failures.values()
    return {at: Span(log.log_start_offset, log.end, log.last_stable_offset) for at, log in found.items()}


def start_moment(start: str | None) -> Moment | None:
    """The time of `--from`, None if that is none."""
    return None if start is None or start in ("earliest", "latest") or start.isdecimal() else parse_moment(start)


def begun(context: Context, spans: Mapping[TopicPartition, Span], missing: Missing) -> dict[TopicPartition, Span]:
    """Spans that begin where the arguments say. An offset outside of a log is told; that log is read from where it begins."""
    options = context.options
    if options.last is not None:
        return {at: replace(one, start=max(one.start, one.end - options.last)) for at, one in spans.items()}
    start = options.start or ("latest" if options.follow else "earliest")
    if start == "earliest":
        return dict(spans)
    if start == "latest":
        return {at: replace(one, start=one.end) for at, one in spans.items()}
    if start.isdecimal():
        return {at: _from_offset(at, one, int(start), missing) for at, one in spans.items()}
    return _from_time(context, spans, missing)


def _from_offset(at: TopicPartition, span: Span, start: int, missing: Missing) -> Span:
    if not span.start <= start <= span.end:
        missing.notes.append(f"{at.topic}-{at.partition}: offset {start} is outside of {span.start} to {span.end}")
    return replace(span, start=max(span.start, start))


def _from_time(context: Context, spans: Mapping[TopicPartition, Span], missing: Missing) -> dict[TopicPartition, Span]:
    moment_ms = cast("Moment", start_moment(context.options.start)).at_ms(context.cluster.clock.now_ms())
    level = messages.READ_COMMITTED if context.options.isolation_level == READ_COMMITTED else messages.READ_UNCOMMITTED
    found = offsets_at(context.cluster, dict.fromkeys(spans, moment_ms), context.deadline, level)
    missing.failures += found.failures.values()
    placed = {}
    for at, answer in found.answers.items():
        placed[at] = replace(spans[at], start=answer.offset if answer.offset >= 0 else spans[at].end)
    return placed
