"""Runs of an archive with clean and unclean elections at any time: in the end the archive equals the leader's log."""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from kafka_lagoon.fetch import truncation_checks
from kafka_lagoon.fetch.accounting import RunIdentity, reconcile
from kafka_lagoon.fetch.archived import Archived
from kafka_lagoon.fetch.leader_epochs import EpochRange, joined
from kafka_lagoon.fetch.plan import Plan
from kafka_lagoon.fetch.ranges import LogBounds, Position, next_range
from kafka_lagoon.fetch.split import SplitOutcome
from kafka_lagoon.fetch.tasks import TaskOutcome, divide
from kafka_lagoon.fetch.truncation_checks import check_epochs, check_positions, epochs_read
from kafka_lagoon.records.decoding import Counts
from kafka_lagoon.topic_partition import TopicPartition
from tests.effort import examples
from tests.fetch.elections import Partition

PARTITION = TopicPartition("t", 0)
ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 6)),
        st.tuples(st.just("replicate"), st.integers(0, 2)),
        st.tuples(st.just("elect"), st.integers(0, 2)),
        st.tuples(st.just("take_over"), st.integers(0, 2)),
        st.tuples(st.just("take_over"), st.integers(0, 2)),
    ),
    max_size=3,
)
RUNS = st.lists(
    st.fixed_dictionaries(
        {
            "before": ACTIONS,
            "splits": st.integers(1, 4),
            "order": st.permutations(range(4)),
            "between": st.lists(ACTIONS, min_size=5, max_size=5),
            "answers": st.sampled_from([True, True, False]),
        }
    ),
    min_size=2,
    max_size=4,
)


class Archive:
    """The archive of the partition: the leader epoch of the record at each offset, and the next offset."""

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.topics: Mapping[str, Archived] = {}
        self.epochs: list[int] = []
        self.answers = True

    def epoch_ends(self, _: object, several: Sequence[Mapping[TopicPartition, int]], __: object) -> list[Any]:
        """Replaces `several_epoch_ends`: the leader's responses, if it answers."""
        leader = self.partition.leader
        return [
            SimpleNamespace(
                answers={partition: leader.end_of(epoch) for partition, epoch in requested.items()}
                if self.answers
                else {}
            )
            for requested in several
        ]

    def act(self, actions: Sequence[tuple[str, int]]) -> None:
        for action, argument in actions:
            getattr(self.partition, action)(argument)

    def run(self, splits: int, order: Sequence[int], between: Sequence[Sequence[tuple[str, int]]]) -> None:
        """Plan, read each split from the current leader, check, and commit."""
        plan = self._plan()
        self.epochs = self.epochs[: min((one.to_offset for one in plan.events), default=len(self.epochs))]
        tasks = divide(plan.ranges, lambda planned: planned.offsets, splits, max(1, plan.sizes[PARTITION] // splits))
        outcomes: dict[int, SplitOutcome] = {}
        read: dict[int, list[int]] = {}
        for step, number in enumerate([*(one for one in order if one < len(tasks)), *range(4, len(tasks))]):
            (split,) = tasks[number].splits
            self.act(between[step % 4])
            read[number] = self.partition.leader.log[split.from_offset : split.to_offset]
            met = joined(EpochRange(epoch, n, n + 1) for n, epoch in enumerate(read[number], split.from_offset))
            reached = split.from_offset + len(read[number])
            outcomes[number] = SplitOutcome(
                split=split, next_offset=reached, counts=Counts(records=len(read[number])), epochs=met
            )
        self.act(between[-1])
        checked = check_epochs(None, epochs_read(plan.ranges, outcomes.values()), None)  # type: ignore[arg-type]
        results = [TaskOutcome(outcomes=[outcomes[n]], files={PARTITION: 1}) for n in range(len(tasks))]
        reconciled = reconcile(RUN, plan, results, checked)
        for number in sorted(reconciled.kept, key=lambda n: tasks[n].splits[0].from_offset):
            self.epochs += read[number]
        self.topics = reconciled.topics
        assert self.position().next_offset == len(self.epochs)

    def position(self) -> Position:
        return self.topics["t"].partitions[0] if self.topics else Position(next_offset=0)

    def _plan(self) -> Plan:
        end = len(self.partition.leader.log)
        log = LogBounds(log_start_offset=0, high_watermark=end, last_stable_offset=end, end=end)
        checked = check_positions(None, {PARTITION: self.position()}, None)  # type: ignore[arg-type]
        position = Position(
            next_offset=self.position().next_offset,
            leader_epoch=self.position().leader_epoch,
            epochs=self.position().epochs,
            confirmed=PARTITION in checked.confirmed,
        )
        events, planned = next_range("t", "id", 0, position, log, checked.divergences.get(PARTITION))
        ranges = [planned] if planned else []
        sizes = {PARTITION: planned.offsets if planned else 0}
        return Plan(
            archived=self.topics,
            topic_ids={"t": "id"},
            ranges=ranges,
            events=events,
            failures=(),
            sizes=sizes,
            planned_at_ms=0,
        )


RUN = RunIdentity(ingest_id="id", sequence=1, cluster="name", cluster_id="cluster")
QUIET = {"before": [], "splits": 1, "order": range(4), "between": [[]] * 5, "answers": True}
TRUNCATED_TO_NOTHING_TWICE = [
    QUIET | {"before": [("elect", 2), ("append", 1)]},
    QUIET | {"before": [("elect", 1)], "between": [[], [], [], [], [("append", 2)]]},
    QUIET | {"between": [[], [], [], [], [("elect", 0)]], "answers": False},
]


@given(RUNS)
@example(TRUNCATED_TO_NOTHING_TWICE)
@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=examples(200))
def test_the_archive_is_the_leaders_log(runs: list[dict[str, Any]]):
    """For any elections and missing responses, two undisturbed runs later the archive is correct."""
    archive = Archive(Partition())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(truncation_checks, "several_epoch_ends", archive.epoch_ends)
        for run in runs:
            archive.act(run["before"])
            archive.answers = run["answers"]
            archive.run(run["splits"], run["order"], run["between"])
        archive.answers = True
        for _ in range(2):
            archive.run(1, range(4), [[]] * 5)
    assert archive.epochs == archive.partition.leader.log
