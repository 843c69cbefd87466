"""Adds to each split the leader epoch of the record before it, which brokers compare with their log (KIP-595).

Without the epoch, a split could read another history than the split before it: the leader may change between the two, and
after an unclean election its log may hold other records.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kafka_lagoon.admin.epoch_ends import epoch_ends
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.clock import Deadline
from kafka_lagoon.fetch.split import Split
from kafka_lagoon.fetch.tasks import Task
from kafka_lagoon.topic_partition import TopicPartition

_MAX_EPOCHS = 20  # rounds of requests at most; earlier splits get no epoch

EpochStart = tuple[int, int]  # an epoch, and its first offset


def with_last_epochs(cluster: Cluster, tasks: Sequence[Task], deadline: Deadline) -> list[Task]:
    """The tasks, with the leader epoch of the record before each split as the leaders have it now.

    Leaders are asked about divided partitions only: the first split of a range has its epoch from the run before.
    """
    cuts: dict[TopicPartition, list[int]] = {}
    for split in (split for task in tasks for split in task.splits):
        if split.continues:
            cuts.setdefault(split.topic_partition, []).append(split.from_offset)
    starts = _epoch_starts(cluster, {partition: min(offsets) for partition, offsets in cuts.items()}, deadline)
    return [replace(task, splits=tuple(_with_epoch(split, starts) for split in task.splits)) for task in tasks]


def _with_epoch(split: Split, starts: Mapping[TopicPartition, Sequence[EpochStart]]) -> Split:
    if not split.continues:
        return split
    known = starts.get(split.topic_partition, ())
    return replace(split, last_epoch=next((epoch for epoch, first in known if first < split.from_offset), -1))


def _epoch_starts(
    cluster: Cluster, down_to: Mapping[TopicPartition, int], deadline: Deadline
) -> dict[TopicPartition, list[EpochStart]]:
    """The newest epochs of each log with their first offsets, newest first, down to the one that holds an offset.

    An epoch starts at the end of the largest epoch below it.
    """
    starts: dict[TopicPartition, list[EpochStart]] = {partition: [] for partition in down_to}
    newest = {partition: cluster.topics.leader_epoch_of(partition) for partition in down_to}
    for _ in range(_MAX_EPOCHS):
        newest = {partition: epoch for partition, epoch in newest.items() if epoch >= 0}
        if not newest:
            break
        before = {partition: epoch - 1 for partition, epoch in newest.items() if epoch}
        answers = epoch_ends(cluster, before, deadline).answers
        for partition, epoch in list(newest.items()):
            answer = answers.get(partition)
            first = answer.end_offset if answer else 0 if epoch == 0 else -1
            is_last = first < down_to[partition] or answer is None or not 0 <= answer.leader_epoch < epoch
            if first >= 0:
                starts[partition].append((epoch, first))
            newest[partition] = -1 if is_last or answer is None else answer.leader_epoch
    return starts
