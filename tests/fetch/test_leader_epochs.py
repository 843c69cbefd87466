"""The divergence of a leader's log from the read records, computed by epochs and compared with the logs."""

from hypothesis import given
from hypothesis import strategies as st

from kafka_lagoon.fetch.leader_epochs import Divergence, EpochEnd, EpochRange, cut, divergence, joined
from tests.fetch.elections import Partition

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


def played(actions: list[Action]) -> Partition:
    partition = Partition()
    for action, number in actions:
        getattr(partition, action)(number)
    return partition


@given(ACTIONS, st.sets(st.integers(0, 100)))
def test_the_first_record_that_differs(actions: list[Action], compacted: set[int]):
    """All records before the divergence are in the leader's log, and there is a divergence only if a read record is not.

    This holds for any elections between two reads, and for any records that compaction had removed before.
    """
    partition = played(actions)
    seen = [(offset, epoch) for offset, epoch in enumerate(partition.read) if offset not in compacted]
    epochs = joined(EpochRange(epoch, offset, offset + 1) for offset, epoch in seen)
    log = partition.leader.log
    wrong = [offset for offset, epoch in seen if offset >= len(log) or log[offset] != epoch]
    diverged = divergence(epochs, [partition.leader.end_of(one.leader_epoch) for one in epochs])
    assert (diverged is not None) == bool(wrong)
    if diverged:
        assert diverged.offset <= wrong[0]
        assert diverged.offset == wrong[0] or compacted
        before = [epoch for offset, epoch in seen if offset < diverged.offset]
        assert [one.leader_epoch for one in cut(epochs, diverged.offset)] == list(dict.fromkeys(before))


def test_a_broker_that_answers_without_an_epoch():
    """Before Kafka 2.0 the response is only an offset, which is an upper bound of the end of our epoch."""
    read = [EpochRange(3, 0, 50), EpochRange(5, 50, 80)]
    assert divergence(read, [EpochEnd(-1, 50), EpochEnd(-1, 60)]) == Divergence(60, 5)
    assert divergence(read, [EpochEnd(-1, 50), EpochEnd(-1, 80)]) is None


def test_what_nobody_knows_is_no_divergence():
    """An epoch that the leader does not know, a missing response, or one about a later epoch, withdraws nothing."""
    read = [EpochRange(3, 0, 50), EpochRange(5, 50, 80)]
    assert divergence(read, [EpochEnd(-1, -1), None]) is None
    assert divergence(read, [EpochEnd(4, 20), EpochEnd(6, 60)]) is None


def test_a_log_that_lost_its_oldest_epochs():
    """Retention removes old epochs from the leader's cache: it returns the requested epoch with the start of its first."""
    assert divergence([EpochRange(3, 0, 50)], [EpochEnd(3, 70)]) is None
