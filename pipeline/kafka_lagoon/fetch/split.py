"""What one task reads, and what came of it: plain values that travel between driver and executors.

Guards one rule: a split says everything that reading it depends on, so that a task that is run again reads the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from kafka_lagoon.fetch.epochs import EpochRange
from kafka_lagoon.records.decoding import Counts, DecodeOptions, Problem

READ_COMMITTED, READ_UNCOMMITTED = "read_committed", "read_uncommitted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Offsets `from_offset` to `to_offset` (not included) of one partition, as they were planned."""

    topic: str
    topic_id: str | None  # Kafka's spelling; None if the brokers give none
    partition: int
    from_offset: int
    to_offset: int
    stable_end: int  # last stable offset at planning: behind it nothing is known of open transactions
    last_epoch: int = (
        -1
    )  # leader epoch of the record before from_offset, -1 unknown: tells whether the log was truncated
    continues: bool = False  # whether another split of this run reads what is before from_offset


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What reading a split came to: offsets up to `next_offset` are accounted for by `counts`.

    `failure` names what kept the rest from being read: Kafka's error name or one of ours; None if nothing did.
    """

    split: Split
    next_offset: int
    counts: Counts
    problems: Sequence[Problem] = ()
    leader_epoch: int = -1  # of the last batch, -1 unknown
    epochs: Sequence[EpochRange] = ()  # what was read in which leader epoch, in the order of offsets
    failure: str | None = None
    detail: str | None = None
    truncated_to: int | None = None  # the log ends here for last_epoch: what was read behind it is another history


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """How splits are read; the same for all tasks of a run. `fetch_bytes` is asked for at once, in one request."""

    isolation_level: str = READ_COMMITTED
    fetch_bytes: int = 8 << 20
    fetch_wait_ms: int = 500
    stall_timeout_ms: int = 60_000  # longest time without progress
    ends_at_ms: int | None = None  # wall time at which reading ends, for the clocks of several machines; None: never
    decoding: DecodeOptions = field(default_factory=DecodeOptions)
