"""Asks the leaders whether their logs still have the records that were read: an unclean leader election takes records back.

A check is one round trip: for the n-th epoch of all partitions each leader gets its requests, and all of these go out at once.
A leader that does not answer neither confirms nor contradicts.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace

from kafka_lagoon.admin.epoch_ends import end_columns, several_epoch_ends
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import PipelineError
from kafka_lagoon.fetch.leader_epochs import Divergence, EpochEnd, EpochRange, confirms, divergence, joined
from kafka_lagoon.fetch.ranges import PlannedRange, Position
from kafka_lagoon.fetch.split import SplitOutcome
from kafka_lagoon.fetch.topic_identity import is_same_id, same_for_leaders
from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol.messages.api_versions import ApiVersionsResponse
from kafka_lagoon.protocol.messages.fetch import BY_ID, FETCH
from kafka_lagoon.topic_partition import TopicPartition
from kafka_lagoon.wire.primitives import uuid_text


@frozen
class CheckedEpochs:
    """Results of comparing leader epochs: logs that diverge from the records read, and partitions that have all of them.

    `foreign` are partitions that were read by name and may be of another topic: the topic has another id now or is gone, or
    the leader did not answer.
    """

    divergences: Mapping[TopicPartition, Divergence] = field(default_factory=dict)
    confirmed: frozenset[TopicPartition] = frozenset()
    foreign: frozenset[TopicPartition] = frozenset()


def check_epochs(
    cluster: Cluster, read: Mapping[TopicPartition, Sequence[EpochRange]], deadline: Deadline
) -> CheckedEpochs:
    """Ask the leaders for the end of each epoch that was read, and compare."""
    divergences: dict[TopicPartition, Divergence] = {}
    confirmed: list[TopicPartition] = []
    most = max(map(len, read.values()), default=0)
    requested = (
        {partition: epochs[n].leader_epoch for partition, epochs in read.items() if n < len(epochs)}
        for n in range(most)
    )
    gathered = several_epoch_ends(cluster, requested, deadline)
    partitions = list(read)
    ends_by_epoch = [map(EpochEnd, *end_columns(one.answers, partitions)) for one in gathered]
    for (partition, epochs), *ends in zip(read.items(), *ends_by_epoch, strict=True):
        if all(map(confirms, epochs, ends)):
            confirmed.append(partition)
        elif diverged := divergence(epochs, ends[: len(epochs)]):
            divergences[partition] = diverged
    return CheckedEpochs(divergences=divergences, confirmed=frozenset(confirmed))


def check_positions(
    cluster: Cluster, positions: Mapping[TopicPartition, Position], deadline: Deadline
) -> CheckedEpochs:
    """Check that logs still have the archived offsets.

    Of a position that was confirmed before only the last epoch is requested, and its other epochs only if that one diverges.
    """
    last = {
        partition: position.read_epochs[-1:] if position.confirmed else position.read_epochs
        for partition, position in positions.items()
    }
    first = check_epochs(cluster, last, deadline)
    diverged = {partition: positions[partition] for partition in first.divergences}
    again = {
        partition: position.read_epochs
        for partition, position in diverged.items()
        if position.confirmed and len(position.read_epochs) > 1
    }
    second = check_epochs(cluster, again, deadline)
    return CheckedEpochs(divergences={**first.divergences, **second.divergences}, confirmed=first.confirmed)


def check_outcomes(
    cluster: Cluster,
    ranges: Sequence[PlannedRange],
    topic_ids: Mapping[str, str | None],
    outcomes: Iterable[SplitOutcome],
    deadline: Deadline,
) -> CheckedEpochs:
    """Check that logs have the offsets that all splits of the ranges read; topics that were re-created meanwhile are left out.

    A leader may change between two splits, and after an unclean election its log may hold other records. Leaders are asked by
    topic name. A leader that is too old to fetch by topic id also served the reads by name: the topic must have the planned id
    both in the metadata read now and in that of the leader, or else the records may be of a re-created topic.
    """
    read = epochs_read(ranges, outcomes)
    by_name = _fetched_by_name(cluster, read)
    try:
        answer = cluster.refresh({partition.topic for partition in read}, deadline)
    except PipelineError:
        return CheckedEpochs(foreign=frozenset(by_name))
    now = {topic.name: uuid_text(topic.topic_id) for topic in answer.topics if not topic.error_code}
    same = {
        partition: epochs
        for partition, epochs in read.items()
        if partition.topic in now and is_same_id(now[partition.topic], topic_ids[partition.topic])
    }
    by_name |= _fetched_by_name(cluster, read)
    foreign = frozenset(by_name - same_for_leaders(cluster, by_name & same.keys(), topic_ids, deadline))
    checked = check_epochs(cluster, {partition: same[partition] for partition in same.keys() - foreign}, deadline)
    return replace(checked, foreign=foreign)


def _fetched_by_name(cluster: Cluster, partitions: Iterable[TopicPartition]) -> set[TopicPartition]:
    """The partitions whose leaders are too old to fetch by topic id; an unconnected leader is if any connected broker is."""
    is_any_old = any(map(_is_too_old, cluster.api_versions()))
    by_name = set()
    for partition in partitions:
        leader_id = cluster.leader_of(partition)
        versions = None if leader_id is None else cluster.brokers[leader_id].versions
        if is_any_old if versions is None else _is_too_old(versions):
            by_name.add(partition)
    return by_name


def _is_too_old(versions: ApiVersionsResponse) -> bool:
    """True if a broker cannot fetch by topic id."""
    return max((one.max_version for one in versions.api_keys if one.api_key == FETCH.key), default=-1) < BY_ID.lowest


def epochs_read(
    ranges: Sequence[PlannedRange], outcomes: Iterable[SplitOutcome]
) -> dict[TopicPartition, tuple[EpochRange, ...]]:
    """The epochs that each partition's splits read, in the order of offsets, after the last epoch that was archived before.

    A leader that has that epoch, and the epochs read after it, has everything before it, too.
    """
    read: dict[TopicPartition, list[EpochRange]] = {
        planned.topic_partition: list(planned.epochs[-1:]) for planned in ranges
    }
    for outcome in sorted(outcomes, key=lambda outcome: outcome.split.from_offset):
        read[outcome.split.topic_partition] += outcome.epochs
    return {partition: joined(epochs) for partition, epochs in read.items()}
