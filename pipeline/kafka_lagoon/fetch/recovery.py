"""Decides how reading a partition continues after an answer without records: retry, continue elsewhere in the log, or stop.

It looks the leader up again and waits, for the stall timeout without progress at most; then the split ends with Kafka's name
for the error or one of ours. No answer of a broker raises. An empty answer is not the end of a log.
"""

from kafka_lagoon.admin.offsets import HIGH_WATERMARK, LOCAL_START, LOG_START, list_offsets
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import UNSUPPORTED, Failure, refusal_name
from kafka_lagoon.clock import backoff
from kafka_lagoon.errors import (
    AddressRefused,
    AuthenticationFailed,
    ConnectionFailed,
    FrameTooLarge,
    PipelineError,
    UnsupportedVersion,
)
from kafka_lagoon.fetch.ranges import LOG_TRUNCATED, TOPIC_DELETED, TOPIC_RECREATED
from kafka_lagoon.fetch.requests import FetchPosition
from kafka_lagoon.fetch.split import Split
from kafka_lagoon.fetch.stalls import BROKER_STALLED, RUN_DEADLINE_PASSED, Limits
from kafka_lagoon.fetch.topic_identity import ask_every_broker, said_by_all
from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol.error_codes import (
    FENCED_LEADER_EPOCH,
    INCONSISTENT_TOPIC_ID,
    LEADER_NOT_AVAILABLE,
    NOT_LEADER_OR_FOLLOWER,
    OFFSET_OUT_OF_RANGE,
    UNKNOWN_TOPIC_ID,
    UNKNOWN_TOPIC_OR_PARTITION,
    Refresh,
    error_code,
)
from kafka_lagoon.protocol.messages.fetch import EpochEndOffset, PartitionData
from kafka_lagoon.protocol.messages.metadata import MetadataTopic
from kafka_lagoon.wire.primitives import uuid_text

NO_PROGRESS, THROTTLED, BATCH_TOO_LARGE, CORRUPT_LOG = "NO_PROGRESS", "THROTTLED", "BATCH_TOO_LARGE", "CORRUPT_LOG"

_MOVED = frozenset({NOT_LEADER_OR_FOLLOWER, FENCED_LEADER_EPOCH})
# A partition without a leader may be one of a topic that was deleted before its leader was looked up.
_NO_TOPIC = frozenset({UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, INCONSISTENT_TOPIC_ID, LEADER_NOT_AVAILABLE})
# Names of failures without a code that may pass.
_PASSING = frozenset({"CONNECTION_LOST", "CONNECTION_FAILED", "DEADLINE_PASSED", "THROTTLED"})
_CONFIRMATIONS = 3  # equal answers in a row before every broker is asked, or an empty answer is believed
_ATTEMPTS = 3  # after errors that Kafka calls final, or unreadable answers, which may be accidents


@frozen(kw_only=False)
class Stop:
    """Reading ends, for this reason."""

    name: str
    detail: str | None
    truncated_to: int | None = None


@frozen(kw_only=False)
class SkipTo:
    """The log starts at a later offset: the records before it were deleted."""

    log_start_offset: int


@frozen(kw_only=False)
class ForgetEpoch:
    """The leader does not know the epoch of the last record any more, so nothing can be proven by it."""


Decision = Stop | SkipTo | ForgetEpoch | None  # None: the same request again


class Recovery:
    """Waits for one partition until its time limit, which `progressed` renews. The reader carries out its decisions."""

    def __init__(self, cluster: Cluster, split: Split, limits: Limits) -> None:
        self._cluster, self._split, self._limits = cluster, split, limits
        self._partition = split.topic_partition
        self._begin()

    def progressed(self) -> None:
        """Reset the counts and the time limit, because offsets were read."""
        self._limits.stalls.progressed(self._cluster.leader_of(self._partition))
        self._begin()

    def _begin(self) -> None:
        settings = self._cluster.settings
        self._deadline = self._limits.waiting_for(self._cluster.leader_of(self._partition))
        self._pauses = backoff(settings.retry_backoff_ms, settings.retry_backoff_max_ms)
        self._disappearances = self._refusals = self._empty_answers = 0

    def refuse_stalled(self) -> Stop | None:
        """Stop at once where the leader has stalled for other partitions again and again."""
        leader_id = self._cluster.leader_of(self._partition)
        if self._limits.stalls.gives_up_on(leader_id):
            return Stop(BROKER_STALLED, f"broker {leader_id} stalled for other partitions")
        return None

    def after_error(self, error: PipelineError) -> Decision:
        """Decide after an error instead of an answer, or an answer that cannot be decoded."""
        name = refusal_name(error)
        if isinstance(error, FrameTooLarge) and error.is_beyond_limit:
            return Stop(BATCH_TOO_LARGE, f"{error}; see receive_message_max_bytes")
        if isinstance(error, AuthenticationFailed | AddressRefused | UnsupportedVersion):
            return Stop(name, str(error))
        if isinstance(error, ConnectionFailed):
            return self._again(name, str(error), refresh=True)
        return self._refused(name, str(error))

    def after_code(self, code: int, partition: PartitionData | None, position: FetchPosition) -> Decision:
        """Decide after an error code for a position."""
        known = error_code(code)
        if code == OFFSET_OUT_OF_RANGE:
            return self._find_range(position)
        if code in _NO_TOPIC:
            return self._find_topic(known.name)
        if code in _MOVED and partition and self._learn_leader(partition):
            return None
        if known.retriable:
            return self._again(known.name, None, refresh=known.refresh is not Refresh.NOTHING)
        return self._refused(known.name, None) if code < 0 else Stop(known.name, None)

    def after_divergence(self, diverging: EpochEndOffset, position: FetchPosition) -> Decision:
        """Decide after the leader named the largest epoch up to the last one that was read, and its end.

        The log is truncated if that is before the position, as for Kafka's consumer. Otherwise the leader lacks the last
        epoch: compaction may have removed its records, and after that a restart the epoch.
        """
        detail = f"leader epoch {diverging.epoch} ends at {diverging.end_offset} in the leader's log"
        if diverging.end_offset < position.offset:
            return Stop(LOG_TRUNCATED, detail, truncated_to=diverging.end_offset)
        return ForgetEpoch() if position.last_epoch >= 0 else self._again(NO_PROGRESS, detail, refresh=True)

    def after_omission(self, throttle_ms: int) -> Decision:
        """Decide after an answer without the partition; the broker gets no request for `throttle_ms` (KIP-219)."""
        if throttle_ms:
            detail = f"the last answer was throttled for {throttle_ms} ms"
            return self._again(THROTTLED, detail, refresh=False, pause=False)
        return self._again(NO_PROGRESS, "answers leave the partition out", refresh=True)

    def after_empty(self, partition: PartitionData, offset: int) -> Decision:
        """Decide after an answer without records at the offset or after it."""
        self._empty_answers += 1
        detail = f"nothing comes at offset {offset}, the high watermark is {partition.high_watermark}"
        return self._again(NO_PROGRESS, detail, refresh=self._empty_answers % _CONFIRMATIONS == 0)

    def rest_seems_empty(self, partition: PartitionData) -> bool:
        """True if empty answers show that nothing is left before the split's end, though the log continues there.

        Cleaning removes the last records of a log, too: tombstones and markers of transactions. Then readers of committed
        records get nothing before an open transaction, and no reader gets anything before an empty newest segment.
        """
        reach = min(partition.last_stable_offset, partition.high_watermark)
        return self._empty_answers >= _CONFIRMATIONS and reach >= self._split.to_offset

    def is_local(self, offset: int) -> bool:
        """True if an offset is on the leader's own disk, where an empty answer means no records: remote storage may be slow."""
        answers = list_offsets(self._cluster, [self._partition], [LOCAL_START], self._deadline)[LOCAL_START]
        if self._partition in answers.failures:
            # Older brokers have no remote storage (KIP-405).
            return answers.failures[self._partition].name == UNSUPPORTED
        return answers.answers[self._partition].offset <= offset

    def _learn_leader(self, partition: PartitionData) -> bool:
        leader = partition.current_leader
        return self._cluster.learn_leader(self._partition, leader.leader_id, leader.leader_epoch, self._split.topic_id)

    def _refused(self, name: str, detail: str | None) -> Decision:
        self._refusals += 1
        return Stop(name, detail) if self._refusals >= _ATTEMPTS else self._again(name, detail, refresh=False)

    def _again(self, name: str, detail: str | None, *, refresh: bool, pause: bool = True) -> Stop | None:
        """Repeat the request after a pause, and after a refresh of the leader if that may help; stop when the time is up."""
        leader_id = self._cluster.leader_of(self._partition)
        if refresh:
            self._metadata()
        if pause:
            self._deadline.pause(next(self._pauses))
        if self._limits.run_is_over():
            return Stop(RUN_DEADLINE_PASSED, detail)
        if not self._deadline.passed():
            return None
        self._limits.stalls.stalled(leader_id)
        waited = f"no progress for {self._deadline.budget_ms} ms"
        return Stop(name, "; ".join(filter(None, [waited, detail])))

    def _metadata(self) -> MetadataTopic | None:
        """The topic as a broker describes it now; the cluster learns it too. None if no broker answers."""
        try:
            answer = self._cluster.refresh_elsewhere({self._split.topic}, self._deadline)
        except PipelineError:
            return None  # the next request meets the same brokers and keeps their refusal
        return next((topic for topic in answer.topics if topic.name == self._split.topic), None)

    def _find_topic(self, name: str) -> Decision:
        """Decide after a broker did not know the topic or its id: it is deleted, re-created, or too new for this broker."""
        topic = self._metadata()
        is_gone = topic is not None and self._disappearance(topic) is not None
        self._disappearances = self._disappearances + 1 if is_gone else 0
        if self._disappearances == _CONFIRMATIONS:
            self._disappearances = 0
            if problem := self._confirmed_disappearance():
                return Stop(problem, None)
        return self._again(name, None, refresh=False)

    def _confirmed_disappearance(self) -> str | None:
        """TOPIC_DELETED or TOPIC_RECREATED if every broker agrees: a single broker may have old metadata."""
        answers = ask_every_broker(self._cluster, {self._split.topic}, self._deadline)
        topic = said_by_all(self._split.topic, answers)
        return self._disappearance(topic) if topic else None

    def _disappearance(self, topic: MetadataTopic) -> str | None:
        if topic.error_code == UNKNOWN_TOPIC_OR_PARTITION:
            return TOPIC_DELETED
        if topic.error_code:
            return None
        now = uuid_text(topic.topic_id)
        return TOPIC_RECREATED if self._split.topic_id and now and now != self._split.topic_id else None

    def _without_range(self, failure: Failure) -> Decision:
        """Decide after the leader did not return the bounds of its log, by the reason for that."""
        if failure.code in _NO_TOPIC:
            return self._find_topic(failure.name)
        may_pass = failure.name in _PASSING if failure.code is None else error_code(failure.code).retriable
        return (
            self._again(failure.name, failure.message, refresh=True)
            if may_pass
            else Stop(failure.name, failure.message)
        )

    def _find_range(self, position: FetchPosition) -> Decision:
        """Decide after an offset was out of range: before the log's start or after its end, or with a forgotten epoch."""
        gathered = list_offsets(self._cluster, [self._partition], [LOG_START, HIGH_WATERMARK], self._deadline)
        failure = next((kind.failures[self._partition] for kind in gathered.values() if kind.failures), None)
        if failure:
            return self._without_range(failure)
        start, end = (gathered[kind].answers[self._partition].offset for kind in (LOG_START, HIGH_WATERMARK))
        if start > position.offset:
            return SkipTo(start)
        if end < position.offset:
            return Stop(LOG_TRUNCATED, f"the log ends at {end}", truncated_to=end)
        if position.last_epoch >= 0:
            return ForgetEpoch()
        detail = f"the log spans {start} to {end}"
        return self._again(error_code(OFFSET_OUT_OF_RANGE).name, detail, refresh=True)
