"""Ranges of a run have no gaps for any outcomes of its tasks, and the next run continues at their ends."""

from dataclasses import replace

from kafka_lagoon.fetch.accounting import FILE_LEFT_OUT, STOPPED, RunIdentity, is_loss, reconcile
from kafka_lagoon.fetch.archived import Archived
from kafka_lagoon.fetch.leader_epochs import Divergence, EpochRange
from kafka_lagoon.fetch.plan import Plan
from kafka_lagoon.fetch.ranges import (
    LOG_TRUNCATED,
    LOST,
    TOPIC_DELETED,
    TOPIC_RECREATED,
    Event,
    PlannedRange,
    Position,
)
from kafka_lagoon.fetch.split import Split, SplitOutcome
from kafka_lagoon.fetch.tasks import TaskOutcome
from kafka_lagoon.fetch.topic_identity import NOT_CONFIRMED
from kafka_lagoon.fetch.truncation_checks import CheckedEpochs
from kafka_lagoon.records.decoding import Counts, Problem
from kafka_lagoon.topic_partition import TopicPartition

PARTITION = TopicPartition("t", 0)


def planned(start: int = 0, end: int = 30, *, partition: int = 0, log_start: int = 0, topic: str = "t") -> PlannedRange:
    return PlannedRange(
        topic=topic,
        topic_id="new",
        partition=partition,
        from_offset=start,
        to_offset=end,
        log_start_offset=log_start,
        stable_end=end,
        last_epoch=1,
        epochs=(EpochRange(1, 0, start),) if start else (),
    )


def plan_of(
    *ranges: PlannedRange,
    events: tuple[Event, ...] = (),
    archived: dict[str, Archived] | None = None,
    **ids: str | None,
) -> Plan:
    topic_ids = {one.topic: "new" for one in ranges} | ids
    return Plan(
        archived=archived or {},
        topic_ids=topic_ids,
        ranges=ranges,
        events=events,
        failures=(),
        sizes={},
        planned_at_ms=5,
    )


def read(start: int, end: int, reached: int | None = None, *, partition: int = 0, **more: object) -> SplitOutcome:
    split = Split(topic="t", topic_id="new", partition=partition, from_offset=start, to_offset=end, stable_end=end)
    reached = end if reached is None else reached
    return SplitOutcome(split=split, next_offset=reached, counts=Counts(records=reached - start), **more)


def task(*outcomes: SplitOutcome, files: int = 1) -> TaskOutcome:
    return TaskOutcome(
        outcomes=outcomes, files={TopicPartition(one.split.topic, one.split.partition): files for one in outcomes}
    )


def reconciled(plan: Plan, *tasks: TaskOutcome, checked: CheckedEpochs | None = None):
    run = RunIdentity(ingest_id="id", sequence=7, cluster="name", cluster_id="cluster")
    return reconcile(run, plan, tasks, checked)


def event(problem: str | None, start: int = 10, to: int = 10, partition: int = 0) -> Event:
    return Event(
        topic="t", topic_id="old", partition=partition, from_offset=start, to_offset=to, problem=problem, leader_epoch=1
    )


def test_splits_of_a_partition_are_one_range():
    """Outcomes are sorted by offset, because tasks may end in any order."""
    result = reconciled(
        plan_of(planned(0, 30)),
        task(read(20, 30, leader_epoch=3, epochs=[EpochRange(3, 25, 30)])),
        task(read(0, 10, leader_epoch=1, epochs=[EpochRange(1, 0, 10)])),
        task(read(10, 20, leader_epoch=2, epochs=[EpochRange(1, 10, 15), EpochRange(2, 15, 25)]), files=2),
    )
    (row,) = result.ranges
    assert (row.from_offset, row.to_offset, row.records, row.files, row.leader_epoch) == (0, 30, 30, 4, 3)
    assert (row.problem, row.ingest_id, row.cluster, row.cluster_id) == (None, "id", "name", "cluster")
    assert result.kept == {0, 1, 2}
    position = result.topics["t"].partitions[0]
    assert position == Position(next_offset=30, leader_epoch=3, epochs=((1, 0, 15), (2, 15, 25), (3, 25, 30)))


def test_what_lies_behind_a_failure_is_left_out():
    """The range ends where reading stopped; files of later splits are not part of the run."""
    result = reconciled(
        plan_of(planned(0, 30)),
        task(read(0, 10)),
        task(read(10, 20, reached=14, failure="NOT_LEADER_OR_FOLLOWER")),
        task(read(20, 30)),
    )
    (row,) = result.ranges
    assert (row.to_offset, row.records, row.problem, row.files) == (14, 14, "NOT_LEADER_OR_FOLLOWER", 2)
    assert result.kept == {0, 1}
    assert result.topics["t"].partitions[0].next_offset == 14


def test_offsets_that_no_task_read_are_not_skipped():
    """Where the outcome of a task is missing, the range ends before its split, whatever was read after it."""
    result = reconciled(plan_of(planned(0, 30)), task(read(0, 10)), task(read(20, 30)))
    (row,) = result.ranges
    assert (row.to_offset, row.records, row.problem) == (10, 10, STOPPED)
    assert (result.kept, result.unread) == ({0}, 20)
    (first,) = reconciled(plan_of(planned(0, 30)), task(read(10, 30))).ranges
    assert (first.to_offset, first.records, first.problem) == (0, 0, STOPPED)


def test_a_failure_at_the_end_of_a_split_ends_the_range():
    """A split that failed ends the range, even if it had read all of its offsets by then."""
    result = reconciled(plan_of(planned(0, 20)), task(read(0, 10, failure="CONNECTION_LOST")), task(read(10, 20)))
    (row,) = result.ranges
    assert (row.to_offset, row.problem, result.kept) == (10, "CONNECTION_LOST", {0})


def test_what_a_truncation_took_back_is_left_out():
    """The split with the divergence and all splits after it are not committed; the next run continues at the divergence."""
    result = reconciled(
        plan_of(planned(0, 30)),
        task(read(0, 10, epochs=[EpochRange(1, 0, 10)])),
        task(read(10, 20, epochs=[EpochRange(1, 10, 20)])),
        task(read(20, 30, epochs=[EpochRange(3, 20, 30)])),
        checked=CheckedEpochs(divergences={PARTITION: Divergence(14, 1)}),
    )
    (row,) = result.ranges
    assert (row.from_offset, row.to_offset, row.records, row.problem) == (0, 10, 10, LOG_TRUNCATED)
    assert (result.kept, result.unread) == ({0}, 20)
    assert result.topics["t"].partitions[0] == Position(next_offset=10, leader_epoch=1, epochs=((1, 0, 10),))


def test_a_divergence_before_the_range():
    """A run cannot withdraw records that were archived before: it reads nothing, and the next plan goes back."""
    result = reconciled(
        plan_of(planned(5, 30)), task(read(5, 30)), checked=CheckedEpochs(divergences={PARTITION: Divergence(3, 1)})
    )
    assert [(one.from_offset, one.to_offset, one.problem) for one in result.ranges] == [(5, 5, LOG_TRUNCATED)]
    assert result.kept == set()


def test_neighbours_in_the_same_file():
    """A file is committed whole or not at all: other partitions of a file with withdrawn records are read again."""
    result = reconciled(
        plan_of(planned(0, 30), planned(0, 30, partition=1)),
        task(read(0, 30), read(0, 30, partition=1)),
        checked=CheckedEpochs(
            divergences={PARTITION: Divergence(14, 1)}, confirmed=frozenset({PARTITION._replace(partition=1)})
        ),
    )
    assert [(one.to_offset, one.problem) for one in result.ranges] == [(0, LOG_TRUNCATED), (0, FILE_LEFT_OUT)]
    assert (result.kept, result.unread) == (set(), 60)


def test_a_divergence_that_no_split_reached():
    """A split that a broker stopped before the divergence has no records of the other history."""
    stopped = read(10, 20, reached=14, failure=LOG_TRUNCATED, truncated_to=14)
    result = reconciled(
        plan_of(planned(0, 20)),
        task(read(0, 10)),
        task(stopped),
        checked=CheckedEpochs(divergences={PARTITION: Divergence(14, 1)}),
    )
    (row,) = result.ranges
    assert (row.to_offset, row.records, row.problem, result.kept) == (14, 14, LOG_TRUNCATED, {0, 1})


def test_epochs_that_are_kept():
    """The epochs that were read come after those of earlier runs; the epoch of a range is that of its last batch, be it 0."""
    result = reconciled(plan_of(planned(5, 30)), task(read(5, 30, leader_epoch=2, epochs=[EpochRange(2, 5, 30)])))
    assert result.topics["t"].partitions[0] == Position(next_offset=30, leader_epoch=2, epochs=((1, 0, 5), (2, 5, 30)))
    never_elected = replace(planned(0, 30), last_epoch=-1)
    result = reconciled(plan_of(never_elected), task(read(0, 30, leader_epoch=0, epochs=[EpochRange(0, 0, 30)])))
    assert (result.ranges[0].leader_epoch, result.topics["t"].partitions[0].leader_epoch) == (0, 0)
    nothing = reconciled(plan_of(planned(5, 30)))
    assert (nothing.ranges[0].leader_epoch, nothing.topics["t"].partitions[0].leader_epoch) == (1, 1)


def test_only_what_was_asked_is_confirmed():
    """An offset is confirmed if its older epochs were confirmed at planning, and the read records at the end."""
    for before, after in ((True, True), (True, False), (False, True)):
        checked = CheckedEpochs(confirmed=frozenset({PARTITION} if after else ()))
        result = reconciled(plan_of(replace(planned(5, 30), confirmed=before)), task(read(5, 30)), checked=checked)
        assert result.topics["t"].partitions[0].confirmed == (before and after)


def test_a_split_that_just_ends_early_is_a_failure_too():
    """A split that ends early without a reason is a failure of the rest of its range."""
    (row,) = reconciled(plan_of(planned(0, 30)), task(read(0, 30, reached=29))).ranges
    assert (row.to_offset, row.problem) == (29, STOPPED)


def test_a_task_without_an_outcome_moves_nothing():
    """A range without read offsets is a row of length 0, so that the interruption is recorded."""
    result = reconciled(plan_of(planned(5, 30)))
    (row,) = result.ranges
    assert (row.from_offset, row.to_offset, row.problem) == (5, 5, STOPPED)
    assert result.topics["t"].partitions[0].next_offset == 5


def test_lost_before_and_while_reading_add_up():
    """Records that retention removed before the plan and during the run are one number; the range has no gap."""
    late = SplitOutcome(split=read(20, 30).split, next_offset=30, counts=Counts(lost=4, records=6))
    (row,) = reconciled(plan_of(planned(10, 30, log_start=20)), task(late)).ranges
    assert (row.from_offset, row.to_offset, row.lost, row.records, row.problem) == (10, 30, 14, 6, LOST)


def test_all_lost_needs_no_task():
    """A range whose offsets are all lost is counted without a split."""
    result = reconciled(plan_of(planned(10, 30, log_start=50)))
    (row,) = result.ranges
    assert (row.to_offset, row.lost, row.problem) == (30, 20, LOST)
    assert result.topics["t"].partitions[0].next_offset == 30


def test_a_range_that_lost_offsets_and_stopped_is_a_loss():
    """The failure is its problem, and the loss is in its counts: a run that excuses failures does not excuse the loss."""
    stopped = read(20, 30, reached=24, failure="CONNECTION_LOST")
    (row,) = reconciled(plan_of(planned(10, 30, log_start=20)), task(stopped)).ranges
    assert (row.to_offset, row.lost, row.problem) == (24, 10, "CONNECTION_LOST")
    assert is_loss(row)
    (whole,) = reconciled(plan_of(planned(0, 30)), task(read(0, 30))).ranges
    assert not is_loss(whole)


def test_the_least_loss_is_a_loss():
    """One offset that is lost or corrupt is enough, and so is an event that takes records away; other problems are none."""
    (whole,) = reconciled(plan_of(planned(0, 30)), task(read(0, 30))).ranges
    assert is_loss(replace(whole, lost=1))
    assert is_loss(replace(whole, corrupt=1))
    assert [is_loss(replace(whole, problem=problem)) for problem in (LOG_TRUNCATED, TOPIC_DELETED, STOPPED)] == [
        True,
        True,
        False,
    ]


def test_codecs_of_a_range():
    """The codecs of all splits are listed in order; a range without a batch has none."""
    first, second = (
        replace(read(at, at + 10), counts=Counts(records=10, codecs={name})) for at, name in ((0, "zstd"), (10, "gzip"))
    )
    (row,) = reconciled(plan_of(planned(0, 20)), task(first), task(second)).ranges
    assert row.codec == "gzip,zstd"
    (row,) = reconciled(plan_of(planned(0, 20)), task(read(0, 20))).ranges
    assert row.codec is None


def test_a_range_without_files_and_without_an_epoch():
    """Where no batch was read, and none was known before, the epoch is null; nothing has no files."""
    emptied = replace(planned(0, 30), last_epoch=-1)
    nothing = TaskOutcome(outcomes=(read(0, 30),), files={})
    started = replace(event(None, partition=1), leader_epoch=-1)
    first, second = reconciled(plan_of(emptied, events=(started,)), nothing).ranges
    assert [(row.files, row.leader_epoch) for row in (first, second)] == [(0, None), (0, None)]


def test_a_problem_that_two_splits_met_is_one_row():
    """A corrupt batch on the border of two splits is read by both and is one row."""
    broken = Problem(base_offset=8, last_offset=12, reason="CORRUPT_BATCH", raw=b"x")
    result = reconciled(
        plan_of(planned(0, 20)), task(read(0, 10, problems=[broken])), task(read(10, 20, problems=[broken]))
    )
    assert [(one.base_offset, one.reason, one.raw) for one in result.problems] == [(8, "CORRUPT_BATCH", b"x")]


def test_events_come_before_the_range_they_explain():
    """The truncation goes back, and the range continues there: each row begins at the end of the one before."""
    result = reconciled(
        plan_of(
            planned(6, 20),
            events=(event(LOG_TRUNCATED, 10, 6),),
            archived={"t": Archived(topic_id="new", partitions={0: Position(next_offset=10)})},
        ),
        task(read(6, 20)),
    )
    assert [(one.from_offset, one.to_offset, one.problem) for one in result.ranges] == [
        (10, 6, LOG_TRUNCATED),
        (6, 20, None),
    ]


def test_a_re_created_topic_begins_a_sequence_of_its_own():
    """The old sequence ends under the old id and keeps its next offsets; the new one has the new id and its own offsets."""
    before = {0: Position(next_offset=10), 1: Position(next_offset=10)}
    result = reconciled(
        plan_of(
            planned(0, 5),
            events=(event(TOPIC_RECREATED), event(TOPIC_RECREATED, partition=1)),
            archived={"t": Archived(topic_id="old", partitions=before).re_created("new")},
        ),
        task(read(0, 5)),
    )
    assert [one.topic_id for one in result.ranges] == ["old", "old", "new"]
    assert [one.sequence for one in result.ranges] == [7, 7, 7]
    assert result.topics["t"] == Archived(
        topic_id="new", partitions={0: Position(next_offset=5, leader_epoch=1)}, former={"old": before}
    )


def test_a_deleted_topic_is_closed_once():
    """The topic's id and next offsets are kept, so that a later topic is recognized as another or the same one."""
    deleted = Archived(topic_id="old", partitions={0: Position(next_offset=10)}).deleted()
    result = reconciled(plan_of(events=(event(TOPIC_DELETED),), archived={"t": deleted}, t="old"))
    assert result.topics == {"t": deleted}


def test_a_topic_without_an_id_that_is_deleted_while_it_is_read_is_closed():
    """All its partitions end, also those that were read to their ends or had nothing to read: the next topic begins at its start."""
    before = {number: Position(next_offset=10) for number in range(3)}
    some = [replace(planned(10, 30, partition=number), topic_id=None) for number in range(2)]
    result = reconciled(
        plan_of(*some, archived={"t": Archived(topic_id=None, partitions=before)}, t=None),
        task(read(10, 30, 20, failure=TOPIC_DELETED), read(10, 30, partition=1)),
    )
    assert sorted((one.partition, one.from_offset, one.to_offset, one.problem) for one in result.ranges[:2]) == [
        (0, 10, 20, TOPIC_DELETED),
        (1, 10, 30, None),
    ]
    assert [(one.partition, one.from_offset, one.to_offset, one.problem) for one in result.ranges[2:]] == [
        (1, 30, 30, TOPIC_DELETED),
        (2, 10, 10, TOPIC_DELETED),
    ]
    assert result.topics["t"] == Archived(topic_id=None, partitions={})


def test_a_topic_with_an_id_that_is_deleted_while_it_is_read_keeps_its_offsets():
    """The next run finds out by the id if it returns."""
    known = Archived(topic_id="new", partitions={0: Position(next_offset=10)})
    result = reconciled(plan_of(planned(10, 30), archived={"t": known}), task(read(10, 30, 20, failure=TOPIC_DELETED)))
    assert [one.problem for one in result.ranges] == [TOPIC_DELETED]
    assert result.topics["t"].partitions[0].next_offset == 20


def test_a_topic_without_an_id_that_was_only_interrupted_keeps_its_offsets():
    """Only brokers that deny a topic end it: after any other failure the next run continues, and reads nothing twice."""
    known = Archived(topic_id=None, partitions={0: Position(next_offset=10), 1: Position(next_offset=10)})
    stopped = replace(planned(10, 30), topic_id=None)
    for reached, failure in ((30, None), (20, "CONNECTION_LOST")):
        result = reconciled(
            plan_of(stopped, archived={"t": known}, t=None), task(read(10, 30, reached, failure=failure))
        )
        assert [(one.to_offset, one.problem) for one in result.ranges] == [(reached, failure)]
        offsets = {number: one.next_offset for number, one in result.topics["t"].partitions.items()}
        assert offsets == {0: reached, 1: 10}


def test_topics_that_the_run_did_not_touch_stay():
    """Another pattern today does not remove the next offsets of yesterday's topics."""
    other = Archived(topic_id="x", partitions={3: Position(next_offset=9, leader_epoch=2)})
    result = reconciled(plan_of(planned(0, 5), archived={"other": other}), task(read(0, 5)))
    assert result.topics["other"] == other


def test_records_of_a_foreign_topic_are_left_out():
    """Responses from leaders of another topic with the name are not archived, with any epochs."""
    checked = CheckedEpochs(foreign=frozenset({TopicPartition("t", 0)}))
    result = reconciled(plan_of(planned(10, 30)), task(read(10, 30)), checked=checked)
    assert (result.kept, result.unread) == (frozenset(), 20)
    assert [(one.from_offset, one.to_offset, one.problem) for one in result.ranges] == [(10, 10, NOT_CONFIRMED)]


def test_where_a_sequence_begins_is_kept():
    """A topic whose archive begins at its end has no records yet, and must not begin later in the next run."""
    result = reconciled(plan_of(events=(event(None, 42, 42),), t="new"))
    assert result.topics["t"].partitions[0].next_offset == 42
    assert [(one.from_offset, one.to_offset, one.problem) for one in result.ranges] == [(42, 42, None)]
