"""Compares what was read with the leaders' logs by OffsetForLeaderEpoch: an unclean leader election takes records back.

A check is one round trip: for the n-th epoch of all partitions each leader gets one request, and all of them at once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kafka_lagoon.admin.offsets import several_epoch_ends
from kafka_lagoon.client.cluster import Cluster, TopicPartition
from kafka_lagoon.clock import Deadline
from kafka_lagoon.fetch.epochs import Divergence, EpochEnd, EpochRange, confirms, divergence
from kafka_lagoon.fetch.ranges import Position
from kafka_lagoon.protocol.messages.offset_for_leader_epoch import EpochEndOffset


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What leaders said of epochs that were read: where their logs diverge, and which partitions they have wholly."""

    divergences: Mapping[TopicPartition, Divergence] = field(default_factory=dict)
    confirmed: frozenset[TopicPartition] = frozenset()


def check(cluster: Cluster, read: Mapping[TopicPartition, Sequence[EpochRange]], deadline: Deadline) -> Checked:
    """Ask the leaders for the end of each epoch that was read; one that does not answer neither confirms nor diverges."""
    most = max(map(len, read.values()), default=0)
    if not most:
        return Checked(confirmed=frozenset(read))
    asked = [{at: some[n].leader_epoch for at, some in read.items() if n < len(some)} for n in range(most)]
    answers = [found.answers for found in several_epoch_ends(cluster, asked, deadline)]
    divergences: dict[TopicPartition, Divergence] = {}
    confirmed = set()
    for at, some in read.items():
        told = [_told(answers[n].get(at)) for n in range(len(some))]
        if all(map(confirms, some, told)):
            confirmed.add(at)
        elif parted := divergence(some, told):
            divergences[at] = parted
    return Checked(divergences=divergences, confirmed=frozenset(confirmed))


def _told(answer: EpochEndOffset | None) -> EpochEnd | None:
    return EpochEnd(answer.leader_epoch, answer.end_offset) if answer else None


def check_positions(cluster: Cluster, positions: Mapping[TopicPartition, Position], deadline: Deadline) -> Checked:
    """Whether logs still have what is archived of them.

    Of a position that was confirmed once the last epoch tells; its others are asked for only where that one diverges.
    """
    read = {at: position.read_epochs for at, position in positions.items()}
    first = check(cluster, {at: some[-1:] if positions[at].confirmed else some for at, some in read.items()}, deadline)
    again = {at: read[at] for at in first.divergences if positions[at].confirmed and len(read[at]) > 1}
    second = check(cluster, again, deadline)
    return Checked(divergences={**first.divergences, **second.divergences}, confirmed=first.confirmed)
