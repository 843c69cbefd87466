"""Answers without records in; a reader that may ask again, or an outcome that says why not, out.

Guards one rule: what brokers do never raises. It is waited for as long as patience lasts, or it ends the split with
Kafka's name for it or with one of ours. An empty answer is not the end of a log.
"""

from kafka_lagoon.admin.offsets import HIGH_WATERMARK, LOCAL_START, LOG_START, list_offsets
from kafka_lagoon.client.cluster import Cluster, TopicPartition
from kafka_lagoon.client.failures import UNSUPPORTED, refusal_name
from kafka_lagoon.clock import backoff
from kafka_lagoon.errors import (
    AddressRefused,
    AuthenticationFailed,
    ConnectionFailed,
    FrameTooLarge,
    PipelineError,
    UnsupportedVersion,
)
from kafka_lagoon.fetch.progress import Progress
from kafka_lagoon.fetch.ranges import LOG_TRUNCATED, TOPIC_DELETED, TOPIC_RECREATED
from kafka_lagoon.fetch.split import Split
from kafka_lagoon.fetch.stalls import BROKER_STALLED, RUN_DEADLINE_PASSED, Limits
from kafka_lagoon.protocol.error_codes import (
    FENCED_LEADER_EPOCH,
    INCONSISTENT_TOPIC_ID,
    NOT_LEADER_OR_FOLLOWER,
    OFFSET_OUT_OF_RANGE,
    UNKNOWN_TOPIC_ID,
    UNKNOWN_TOPIC_OR_PARTITION,
    Refresh,
    error_code,
)
from kafka_lagoon.protocol.messages.fetch import PartitionData
from kafka_lagoon.protocol.messages.metadata import MetadataTopic
from kafka_lagoon.wire.primitives import uuid_text

NO_PROGRESS, THROTTLED, BATCH_TOO_LARGE, CORRUPT_LOG = "NO_PROGRESS", "THROTTLED", "BATCH_TOO_LARGE", "CORRUPT_LOG"

_ELSEWHERE = frozenset({NOT_LEADER_OR_FOLLOWER, FENCED_LEADER_EPOCH})
_GONE = frozenset({UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, INCONSISTENT_TOPIC_ID})
_SIGHTINGS = 3  # a broker may be behind the others: so often the same is heard before it is believed
_TRIES = 3  # of what Kafka calls final, or what is no answer at all, but may have been an accident


class Recovery:
    """Waits for one partition until its time limit, which `progressed` renews."""

    def __init__(self, cluster: Cluster, split: Split, progress: Progress, limits: Limits) -> None:
        self._cluster, self._split, self._progress, self._limits = cluster, split, progress, limits
        self._at = TopicPartition(split.topic, split.partition)
        self._begin()

    def progressed(self) -> None:
        """Begin anew: something was read."""
        self._limits.stalls.progressed(self._cluster.leader_of(self._at))
        self._begin()

    def _begin(self) -> None:
        settings = self._cluster.settings
        self._deadline = self._limits.waiting_for(self._cluster.leader_of(self._at))
        self._pauses = backoff(settings.retry_backoff_ms, settings.retry_backoff_max_ms)
        self._sightings = self._accidents = self._empty = 0

    def refuse_stalled(self) -> None:
        """Fail at once where the leader has stalled for other partitions again and again."""
        leader_id = self._cluster.leader_of(self._at)
        if self._limits.stalls.gives_up_on(leader_id):
            self._progress.fail(BROKER_STALLED, f"broker {leader_id} stalled for other partitions")

    def after_error(self, error: PipelineError) -> None:
        """No answer came, or one that cannot be read."""
        name = refusal_name(error)
        if isinstance(error, FrameTooLarge) and error.size > error.limit:
            self._progress.fail(BATCH_TOO_LARGE, f"{error}; see receive_message_max_bytes")
        elif isinstance(error, AuthenticationFailed | AddressRefused | UnsupportedVersion):
            self._progress.fail(name, str(error))
        elif isinstance(error, ConnectionFailed):
            self._again(name, str(error), refresh=True)
        else:
            self._accident(name, str(error))

    def after_code(self, code: int, partition: PartitionData | None) -> None:
        """The broker refused with an error code."""
        known = error_code(code)
        if code == OFFSET_OUT_OF_RANGE:
            self._find_range()
        elif code in _GONE:
            self._find_topic(known.name)
        elif code in _ELSEWHERE and partition and self._believe(partition):
            return
        elif known.retriable:
            self._again(known.name, None, refresh=known.refresh is not Refresh.NOTHING)
        else:
            self._refused(known.name, is_vague=code < 0)

    def after_silence(self, throttle_ms: int) -> None:
        """The answer leaves the partition out; the broker itself is left alone for `throttle_ms` (KIP-219)."""
        if throttle_ms:
            self._again(THROTTLED, f"the last answer was throttled for {throttle_ms} ms", refresh=False, pause=False)
        else:
            self._again(NO_PROGRESS, "answers leave the partition out", refresh=True)

    def after_empty(self, partition: PartitionData) -> None:
        """The answer has no records behind the position."""
        self._empty += 1
        told = f"nothing comes at offset {self._progress.position}, the high watermark is {partition.high_watermark}"
        self._again(NO_PROGRESS, told, refresh=self._empty % _SIGHTINGS == 0)

    def seems_void(self, partition: PartitionData) -> bool:
        """Whether empty answers say that there is nothing left before the split's end, though the log goes on there.

        Cleaning removes the last records of a log too: tombstones and what transactions leave. Readers of committed
        records then get nothing before an open transaction, and nobody before an empty newest segment.
        """
        stable = partition.last_stable_offset if partition.last_stable_offset >= 0 else partition.high_watermark
        return self._empty >= _SIGHTINGS and min(stable, partition.high_watermark) >= self._split.to_offset

    def is_local(self) -> bool:
        """Whether the position is on the leader's own disk, where empty means empty: remote storage may just be slow."""
        found = list_offsets(self._cluster, [self._at], [LOCAL_START], self._deadline)[LOCAL_START]
        if self._at in found.failures:
            return found.failures[self._at].name == UNSUPPORTED  # older brokers have no remote storage (KIP-405)
        return found.answers[self._at].offset <= self._progress.position

    def _believe(self, partition: PartitionData) -> bool:
        leader = partition.current_leader
        return self._cluster.learn_leader(self._at, leader.leader_id, leader.leader_epoch, self._split.topic_id)

    def _refused(self, name: str, is_vague: bool) -> None:
        if is_vague:
            self._accident(name, None)
        else:
            self._progress.fail(name, None)

    def _accident(self, name: str, detail: str | None) -> None:
        self._accidents += 1
        if self._accidents >= _TRIES:
            self._progress.fail(name, detail)
        else:
            self._again(name, detail, refresh=False)

    def _again(self, name: str, detail: str | None, *, refresh: bool, pause: bool = True) -> None:
        """Let the reader ask again, after a pause and news of the leader if that may help; fail when the time is up."""
        asked = self._cluster.leader_of(self._at)
        if refresh:
            self._metadata()
        if pause:
            self._deadline.pause(next(self._pauses))
        if self._limits.run_is_over():
            self._progress.fail(RUN_DEADLINE_PASSED, detail)
        elif self._deadline.passed():
            self._limits.stalls.stalled(asked)
            told = f"no progress for {self._deadline.budget_ms} ms"
            self._progress.fail(name, "; ".join(filter(None, [told, detail])))

    def _metadata(self) -> MetadataTopic | None:
        """What a broker says of the topic now; also learnt by the cluster. None if none answers."""
        try:
            answer = self._cluster.refresh({self._split.topic}, self._deadline)
        except PipelineError:
            return None  # the next request meets the same brokers and keeps their refusal
        return next((topic for topic in answer.topics if topic.name == self._split.topic), None)

    def _find_topic(self, name: str) -> None:
        """The broker does not know the topic, or not by this id: gone, another one, or the broker is behind."""
        topic = self._metadata()
        gone = self._what_became(topic) if topic else None
        self._sightings = self._sightings + 1 if gone else 0
        if gone and self._sightings >= _SIGHTINGS:
            self._progress.fail(gone, None)
        else:
            self._again(name, None, refresh=False)

    def _what_became(self, topic: MetadataTopic) -> str | None:
        if topic.error_code == UNKNOWN_TOPIC_OR_PARTITION:
            return TOPIC_DELETED
        if topic.error_code:
            return None
        now = uuid_text(topic.topic_id)
        return TOPIC_RECREATED if self._split.topic_id and now and now != self._split.topic_id else None

    def _find_range(self) -> None:
        """The position is not in the log: before its start, behind its end, or its term is not known there any more."""
        found = list_offsets(self._cluster, [self._at], [LOG_START, HIGH_WATERMARK], self._deadline)
        failure = next((one.failures[self._at] for one in found.values() if one.failures), None)
        if failure:
            if failure.code in _GONE:
                self._find_topic(failure.name)
            else:
                self._progress.fail(failure.name, failure.message)
            return
        start, end = (found[kind].answers[self._at].offset for kind in (LOG_START, HIGH_WATERMARK))
        if self._progress.lose_before(start):
            self.progressed()
        elif end < self._progress.position:
            self._progress.fail(LOG_TRUNCATED, f"the log ends at {end}", truncated_to=end)
        elif self._progress.last_epoch >= 0:
            self._progress.last_epoch = -1  # the leader has forgotten the term, so nothing can be proven by it
        else:
            self._again(error_code(OFFSET_OUT_OF_RANGE).name, f"the log spans {start} to {end}", refresh=True)
