"""Verbs, and plans of ingests, on brokers with a malformed response each: rows and failures, and no traceback."""

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from kafka_lagoon.cli.command import Command
from kafka_lagoon.cli.kafka.command import ClusterContext
from kafka_lagoon.cli.main import declaration, options_of
from kafka_lagoon.cli.output import CommandOutput, ending, output_blocks
from kafka_lagoon.cli.people import Screen
from kafka_lagoon.cli.registry import names_of
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import PipelineError
from kafka_lagoon.fetch.archived import Archived
from kafka_lagoon.fetch.offset_specs import EARLIEST, LATEST, OffsetSpecs
from kafka_lagoon.fetch.plan import Plan
from kafka_lagoon.fetch.planning import plan
from kafka_lagoon.fetch.ranges import Position
from kafka_lagoon.fetch.read_spec import ReadSpec
from kafka_lagoon.fetch.split import READ_COMMITTED
from kafka_lagoon.wire.primitives import uuid_text
from tests.fake import quorum, resources, security
from tests.fake.answers import SPOKEN
from tests.fake.cluster import FakeCluster
from tests.fake.odd_answers import outcomes
from tests.snapshot.test_collectors import everything

_SHORT = 46  # `make test` tries every n-th mutation, `make proof` all
COMMANDS = (
    *(name for name in names_of("kafka") if name not in ("configs", "fetch", "log-dirs", "produce")),
    *("configs topic", "lag --time", "log-dirs --replicas", "offsets --at 2024-01-01"),
)


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    """A cluster with rows for every verb."""
    for api, answer in (*security.ANSWERS, *quorum.ANSWERS, *resources.ANSWERS):
        monkeypatch.setitem(SPOKEN, api.key, (api, answer))
    cluster = everything()
    cluster.faults.clear()
    return cluster


def shown(
    verb: Command[ClusterContext], options: argparse.Namespace, cluster: Cluster, deadline: Deadline
) -> list[str]:
    """Return every line that a verb prints."""
    output: CommandOutput = verb.answer(ClusterContext(cluster=cluster, options=options, deadline=deadline))
    return [*output_blocks(output, options, Screen()), *ending(output).lines]


def planned(state: FakeCluster) -> Callable[[Cluster, Deadline], Plan]:
    """Plan a run after a run that has read a part of every partition."""
    archived = {
        name: Archived(
            topic_id=uuid_text(topic.topic_id),
            partitions={number: Position(next_offset=1, leader_epoch=0) for number in range(len(topic.partitions))},
        )
        for name, topic in state.topics.items()
    }
    spec = ReadSpec(
        topics=(),
        pattern=".*",
        start=OffsetSpecs(name="start", default=EARLIEST, by_partition={}),
        end=OffsetSpecs(name="end", default=LATEST),
        isolation_level=READ_COMMITTED,
    )
    return lambda cluster, deadline: plan(cluster, spec, archived, deadline)


def seen(state: FakeCluster, step: int) -> Iterator[tuple[str, Any]]:
    """Return the output of every verb, and every plan, after every `step`-th mutation."""
    for words in COMMANDS:
        name, *argv = words.split()
        verb, options = declaration(f"kafka {name}"), options_of(f"kafka {name}", [*argv, "-b", "broker-1:9092"])
        for mutation, outcome in outcomes(state, partial(shown, verb, options), step):
            yield f"{words}: {mutation}", outcome
    for mutation, outcome in outcomes(state, planned(state), step):
        yield f"plan: {mutation}", outcome


def impossible(outcome: Any) -> list[str]:
    """Return ranges of a plan that no log can have."""
    ranges = outcome.ranges if isinstance(outcome, Plan) else ()
    return [str(one) for one in ranges if one.partition < 0 or one.from_offset < 0 or one.to_offset < one.from_offset]


@pytest.mark.long
def test_odd_answers(state: FakeCluster) -> None:
    """For a sample of the mutations each result is lines, a plan, or one of our own errors."""
    several = list(seen(state, _SHORT))
    assert len(several) > 80
    assert all(isinstance(outcome, list | Plan | PipelineError) for _, outcome in several)
    assert {name: lines for name, outcome in several if (lines := impossible(outcome))} == {}


@pytest.mark.proof
@pytest.mark.timeout(1200)
def test_every_odd_answer(state: FakeCluster) -> None:
    """The same for all mutations."""
    assert {name: lines for name, outcome in seen(state, 1) if (lines := impossible(outcome))} == {}
