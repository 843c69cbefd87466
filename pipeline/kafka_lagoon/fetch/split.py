"""Describes the input and the outcome of a task: plain values that travel between driver and executors.

A split contains everything that reading it depends on, so that a repeated task reads the same.
"""

from collections.abc import Sequence
from dataclasses import field

from kafka_lagoon.fetch.leader_epochs import EpochRange
from kafka_lagoon.frozen import frozen
from kafka_lagoon.records.decoding import Counts, DecodeOptions, Problem
from kafka_lagoon.topic_partition import TopicPartition

READ_COMMITTED, READ_UNCOMMITTED = "read_committed", "read_uncommitted"


@frozen
class Split:
    """Offsets `from_offset` to `to_offset` (not included) of one partition, as they were planned."""

    topic: str
    topic_id: str | None  # Kafka's spelling; None if the brokers give none
    partition: int
    from_offset: int
    to_offset: int
    stable_end: int  # last stable offset at planning: after it nothing is known of open transactions
    last_epoch: int = -1  # leader epoch of the record before from_offset, -1 unknown: shows a truncation of the log
    continues: bool = False  # another split of this run reads the offsets before from_offset
    expected_bytes: int | None = None  # approximate bytes on its leader's disk, None if unknown

    @property
    def topic_partition(self) -> TopicPartition:
        """The partition that the offsets are of."""
        return TopicPartition(self.topic, self.partition)


@frozen
class SplitOutcome:
    """The outcome of reading a split: `counts` account for the offsets up to `next_offset`.

    `failure` is the reason why the rest was not read: Kafka's error name or one of ours; None if all was read.
    """

    split: Split
    next_offset: int
    counts: Counts
    problems: Sequence[Problem] = ()
    leader_epoch: int = -1  # of the last batch, -1 unknown
    epochs: Sequence[EpochRange] = ()  # the leader epochs of the records read, in the order of offsets
    failure: str | None = None
    detail: str | None = None
    truncated_to: int | None = None  # the log ends here for last_epoch: other records replace those read after it


@frozen
class ReadOptions:
    """Options of reading, the same for all tasks of a run. One request asks for `fetch_bytes`."""

    isolation_level: str = READ_COMMITTED
    fetch_bytes: int = 8 << 20
    fetch_wait_ms: int = 500
    stall_timeout_ms: int = 60_000  # longest time without progress
    ends_at_ms: int | None = None  # wall time at which reading ends, for the clocks of several machines; None: never
    decoding: DecodeOptions = field(default_factory=DecodeOptions)
