"""Runs a function against responses with one mutation each, and collects the results.

A run of a cluster that answers well shows which APIs are asked, and what their answers are like; of those answers every
mutation is made.
"""

from collections.abc import Callable, Iterator
from typing import Any

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import PipelineError
from kafka_lagoon.wire.schema import Api
from tests.fake.cluster import FakeCluster
from tests.fake.direct import answered_directly
from tests.fake.mutations import Mutation, mutations

Run = Callable[[Cluster, Deadline], Any]


def outcomes(
    state: FakeCluster, run: Run, step: int = 1, wanted: Callable[[str], bool] = lambda _: True
) -> Iterator[tuple[str, Any]]:
    """Return each mutation, and the result of the run or the PipelineError that it raises.

    Of the `wanted` mutations, by name, every `step`-th.
    """
    several = [(name, one) for name, answer in _answers(state, run).items() for one in mutations(answer)]
    several = [(name, one) for name, one in several if wanted(f"{name} {one}")]
    for name, mutation in several[::step]:
        yield f"{name} {mutation}", _outcome(state, run, name, mutation)


def _outcome(state: FakeCluster, run: Run, name: str, mutation: Mutation) -> Any:
    def alter(api: Api[Any, Any], answer: Any) -> Any:
        return mutation.apply(answer) if api.name == name else answer

    try:
        with answered_directly(state, alter) as (cluster, deadline):
            return run(cluster, deadline)
    except PipelineError as error:
        return error


def _answers(state: FakeCluster, run: Run) -> dict[str, Any]:
    """Return the longest response of each API."""
    largest: dict[str, Any] = {}

    def keep(api: Api[Any, Any], answer: Any) -> Any:
        if len(repr(answer)) > len(repr(largest.get(api.name, ""))):
            largest[api.name] = answer
        return answer

    with answered_directly(state, keep) as (cluster, deadline):
        run(cluster, deadline)
    return largest
