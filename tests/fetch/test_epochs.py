"""Where what was read and a leader's log part: told by epochs alone, held against the logs themselves."""

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from pipeline.fetch.epochs import Divergence, EpochEnd, EpochRange, cut, divergence, joined

Action = tuple[str, int]
ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 6)),
        st.tuples(st.just("replicate"), st.integers(0, 2)),
        st.tuples(st.just("elect"), st.integers(0, 2)),
        st.tuples(st.just("fetch"), st.integers(1, 8)),
    ),
    max_size=30,
)


@dataclass
class Replica:
    """The leader epoch of the record at each offset, and where each epoch began, as brokers keep it."""

    log: list[int] = field(default_factory=list)
    starts: dict[int, int] = field(default_factory=dict)

    def append(self, epoch: int) -> None:
        self.starts.setdefault(epoch, len(self.log))
        self.log.append(epoch)

    def end_of(self, asked: int) -> EpochEnd:
        """LeaderEpochFileCache.endOffsetFor."""
        if asked == max(self.starts, default=None):
            return EpochEnd(asked, len(self.log))
        later = [first for epoch, first in self.starts.items() if epoch > asked]
        if not later:
            return EpochEnd(-1, -1)
        return EpochEnd(max((epoch for epoch in self.starts if epoch <= asked), default=asked), min(later))


class Partition:
    """Three replicas of which any may be elected, also one that lacks what others have; and somebody who reads."""

    def __init__(self) -> None:
        self.replicas = [Replica(), Replica(), Replica()]
        self.leader, self.epoch = self.replicas[0], 0
        self.read: list[int] = []  # the epoch read at each offset
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

    def fetch(self, records: int) -> None:
        """Go on from the last offset, knowing nothing of what became of the log since."""
        self.read += self.leader.log[len(self.read) : len(self.read) + records]


def played(actions: list[Action]) -> Partition:
    partition = Partition()
    for action, number in actions:
        getattr(partition, action)(number)
    return partition


@given(ACTIONS, st.sets(st.integers(0, 100)))
def test_the_first_record_that_differs(actions: list[Action], compacted: set[int]):
    """Everything before the divergence is in the leader's log, and there is one only if something is not.

    Whatever elections there were between two reads, and whatever compaction had removed before.
    """
    partition = played(actions)
    told = [(offset, epoch) for offset, epoch in enumerate(partition.read) if offset not in compacted]
    epochs = joined(EpochRange(epoch, offset, offset + 1) for offset, epoch in told)
    log = partition.leader.log
    wrong = [offset for offset, epoch in told if offset >= len(log) or log[offset] != epoch]
    found = divergence(epochs, [partition.leader.end_of(one.leader_epoch) for one in epochs])
    assert (found is not None) == bool(wrong)
    if found:
        assert found.offset <= wrong[0]
        assert found.offset == wrong[0] or compacted
        before = [epoch for offset, epoch in told if offset < found.offset]
        assert [one.leader_epoch for one in cut(epochs, found.offset)] == list(dict.fromkeys(before))


def test_a_broker_that_tells_no_epoch():
    """Before Kafka 2.0 the answer is an offset alone, which still is where our epoch ends at the latest."""
    read = [EpochRange(3, 0, 50), EpochRange(5, 50, 80)]
    assert divergence(read, [EpochEnd(-1, 50), EpochEnd(-1, 60)]) == Divergence(60, 5)
    assert divergence(read, [EpochEnd(-1, 50), EpochEnd(-1, 80)]) is None


def test_what_nobody_knows_is_no_divergence():
    """Neither an epoch that the leader does not know nor a leader that does not answer takes anything back."""
    read = [EpochRange(3, 0, 50), EpochRange(5, 50, 80)]
    assert divergence(read, [EpochEnd(-1, -1), None]) is None


def test_a_log_that_lost_its_oldest_epochs():
    """Retention removes them from the leader's memory: it answers with the asked epoch and the start of its first."""
    assert divergence([EpochRange(3, 0, 50)], [EpochEnd(3, 70)]) is None
