"""A partition as a model: replicas, clean and unclean leader elections, and OffsetForLeaderEpoch as brokers answer it."""

from dataclasses import dataclass, field

from kafka_lagoon.fetch.leader_epochs import EpochEnd


@dataclass
class Replica:
    """The leader epoch of the record at each offset, and the start of each epoch, as brokers store it."""

    log: list[int] = field(default_factory=list)
    starts: dict[int, int] = field(default_factory=dict)

    def append(self, epoch: int) -> None:
        self.starts.setdefault(epoch, len(self.log))
        self.log.append(epoch)

    def end_of(self, requested: int) -> EpochEnd:
        """Do the same as LeaderEpochFileCache.endOffsetFor."""
        if requested == max(self.starts, default=None):
            return EpochEnd(requested, len(self.log))
        later = [first for epoch, first in self.starts.items() if epoch > requested]
        if not later:
            return EpochEnd(-1, -1)
        return EpochEnd(max((epoch for epoch in self.starts if epoch <= requested), default=requested), min(later))


class Partition:
    """Three replicas, any of which may be elected, even without records of the others; and a reader."""

    def __init__(self) -> None:
        self.replicas = [Replica(), Replica(), Replica()]
        self.leader, self.epoch = self.replicas[0], 0
        self.read: list[int] = []  # leader epoch of the record that was read at each offset
        self.leader.starts[0] = 0

    def append(self, records: int) -> None:
        for _ in range(records):
            self.leader.append(self.epoch)

    def replicate(self, number: int) -> None:
        follower = self.replicas[number]
        if follower is self.leader:
            return
        follower.log, follower.starts = [], {}
        for epoch in self.leader.log:
            follower.append(epoch)

    def elect(self, number: int) -> None:
        self.leader, self.epoch = self.replicas[number], self.epoch + 1
        self.leader.starts[self.epoch] = len(self.leader.log)

    def take_over(self, number: int) -> None:
        """Elect a replica, and append a record at once."""
        self.elect(number)
        self.append(4 + 5 * number)

    def fetch(self, records: int) -> None:
        """Continue from the last offset, without a check of the log."""
        self.read += self.leader.log[len(self.read) : len(self.read) + records]
