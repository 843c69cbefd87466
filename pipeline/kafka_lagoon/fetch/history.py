"""Holds the splits of one run together: all of them must have read one history of their partition.

A leader may change between two splits, and after an unclean election its log is another one. So each split is told the
leader epoch of the record before it, which brokers compare (KIP-595), and when all have ended the leaders are asked whether
they have what was read.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from kafka_lagoon.admin.offsets import epoch_ends
from kafka_lagoon.client.cluster import Cluster, TopicPartition
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import PipelineError
from kafka_lagoon.fetch.epoch_checks import Checked, check
from kafka_lagoon.fetch.epochs import EpochRange, joined
from kafka_lagoon.fetch.plan import Plan
from kafka_lagoon.fetch.ranges import PlannedRange
from kafka_lagoon.fetch.split import Outcome, Split
from kafka_lagoon.fetch.tasks import Task
from kafka_lagoon.wire.primitives import uuid_text

_EPOCHS_BACK = 20  # rounds of requests at most; splits before that many epochs begin without one


def with_last_epochs(cluster: Cluster, tasks: Sequence[Task], deadline: Deadline) -> list[Task]:
    """The tasks, with the leader epoch of the record before each split as the leaders have it now.

    Only partitions that were divided are asked for: the first split of a range has its epoch from the run before.
    """
    cuts: dict[TopicPartition, list[int]] = {}
    for split in (split for task in tasks for split in task.splits):
        if split.continues:
            cuts.setdefault(TopicPartition(split.topic, split.partition), []).append(split.from_offset)
    starts = _epoch_starts(cluster, {at: min(some) for at, some in cuts.items()}, deadline)
    return [replace(task, splits=tuple(_told(split, starts) for split in task.splits)) for task in tasks]


def _told(split: Split, starts: Mapping[TopicPartition, Sequence[tuple[int, int]]]) -> Split:
    if not split.continues:
        return split
    known = starts.get(TopicPartition(split.topic, split.partition), ())
    return replace(split, last_epoch=next((epoch for epoch, first in known if first < split.from_offset), -1))


def _epoch_starts(
    cluster: Cluster, down_to: Mapping[TopicPartition, int], deadline: Deadline
) -> dict[TopicPartition, list[tuple[int, int]]]:
    """The newest epochs of each log with their first offsets, newest first, down to the one that holds an offset.

    The end of the largest epoch below one is where that one begins.
    """
    starts: dict[TopicPartition, list[tuple[int, int]]] = {at: [] for at in down_to}
    newest = {at: cluster.leader_epoch_of(at) for at in down_to}
    for _ in range(_EPOCHS_BACK):
        newest = {at: epoch for at, epoch in newest.items() if epoch >= 0}
        if not newest:
            break
        told = epoch_ends(cluster, {at: epoch - 1 for at, epoch in newest.items() if epoch}, deadline).answers
        for at, epoch in list(newest.items()):
            answer = told.get(at)
            first = answer.end_offset if answer else 0 if epoch == 0 else -1
            is_last = first < down_to[at] or answer is None or not 0 <= answer.leader_epoch < epoch
            if first >= 0:
                starts[at].append((epoch, first))
            newest[at] = -1 if is_last or answer is None else answer.leader_epoch
    return starts


def check_outcomes(cluster: Cluster, planned: Plan, outcomes: Iterable[Outcome], deadline: Deadline) -> Checked:
    """Ask the leaders whether they have what was read by all splits; topics that were re-created meanwhile are left out."""
    read = _read_epochs(planned.ranges, outcomes)
    try:
        told = cluster.refresh({at.topic for at in read}, deadline)
    except PipelineError:
        return Checked()
    now = {topic.name: uuid_text(topic.topic_id) for topic in told.topics if not topic.error_code}
    same = {at: some for at, some in read.items() if now.get(at.topic, "") == planned.topic_ids[at.topic]}
    return check(cluster, same, deadline)


def _read_epochs(
    ranges: Sequence[PlannedRange], outcomes: Iterable[Outcome]
) -> dict[TopicPartition, tuple[EpochRange, ...]]:
    """What each partition's splits met, in the order of offsets, after the last epoch of what is archived already.

    That one belongs to it: a leader that has it, and what was read after it, has everything before it too.
    """
    read: dict[TopicPartition, list[EpochRange]] = {
        TopicPartition(one.topic, one.partition): list(one.epochs[-1:]) for one in ranges
    }
    for outcome in sorted(outcomes, key=lambda one: one.split.from_offset):
        read[TopicPartition(outcome.split.topic, outcome.split.partition)] += outcome.epochs
    return {at: joined(some) for at, some in read.items()}
