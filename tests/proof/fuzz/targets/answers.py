"""A cluster of fake brokers, one response of which is replaced: all above the decoders must take it, or refuse it."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, partial
from typing import Any

import pytest

from kafka_lagoon.cli.main import declaration, options_of
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import DecodeError, EncodeError, PipelineError
from kafka_lagoon.produce.batch_progress import BatchProgress, _metadata, read_progress
from kafka_lagoon.produce.transactions import Transaction
from kafka_lagoon.protocol.messages.offset_fetch import OFFSET_FETCH
from kafka_lagoon.wire.reading import decode
from kafka_lagoon.wire.schema import Api
from kafka_lagoon.wire.writing import encode
from tests.cli.kafka.test_odd_answers import COMMANDS, impossible, planned, shown
from tests.fake import quorum, resources, security
from tests.fake.answers import SPOKEN
from tests.fake.cluster import FakeCluster, FakeCommit, FakeGroup
from tests.fake.direct import answered_directly
from tests.snapshot.test_collectors import everything
from tests.snapshot.test_odd_answers import faults, taken

Run = Callable[[Cluster, Deadline], Any]


@cache
def _runs() -> list[Run]:
    """Every verb, a plan of an ingest, and a snapshot."""
    runs: list[Run] = []
    for words in COMMANDS:
        name, *argv = words.split()
        options = options_of(f"kafka {name}", [*argv, "-b", "broker-1:9092"])
        runs.append(partial(shown, declaration(f"kafka {name}"), options))
    return [*runs, planned(_state()), taken]


@cache
def _state() -> FakeCluster:
    state = everything()
    state.faults.clear()
    return state


def answers(data: bytes) -> None:
    """The first byte chooses what is run, the second which of its APIs answers with the rest, in its highest version."""
    run = _runs()[(data[0] if data else 0) % len(_runs())]
    apis = _answers(run)
    name = sorted(apis)[(data[1] if len(data) > 1 else 0) % len(apis)]
    api, _ = apis[name]
    try:
        version = api.versions.highest
        replaced = decode(api.response, version, api.is_flexible(version), data[2:])
    except DecodeError:
        return

    def alter(api: Api[Any, Any], answer: Any) -> Any:
        return replaced if api.name == name else answer

    with suppress(PipelineError):
        outcome = _outcome(run, alter)
        assert not impossible(outcome)
        if run is taken:
            assert not list(faults(outcome))


def _outcome(run: Run, alter: Callable[[Api[Any, Any], Any], Any]) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        for api, answer in (*security.ANSWERS, *quorum.ANSWERS, *resources.ANSWERS):
            patch.setitem(SPOKEN, api.key, (api, answer))
        with answered_directly(_state(), alter) as (cluster, deadline):
            return run(cluster, deadline)


@cache
def _answers(run: Run) -> dict[str, tuple[Api[Any, Any], list[Any]]]:
    """The APIs that a run asks, by name, with the true answers."""
    true: dict[str, tuple[Api[Any, Any], list[Any]]] = {}

    def keep(api: Api[Any, Any], answer: Any) -> Any:
        true.setdefault(api.name, (api, []))[1].append(answer)
        return answer

    _outcome(run, keep)
    return true


def answers_seeds() -> Iterator[bytes]:
    for number, run in enumerate(_runs()):
        apis = _answers(run)
        for index, name in enumerate(sorted(apis)):
            api, true = apis[name]
            version = api.versions.highest
            with suppress(EncodeError):  # an answer that only an older version can carry
                longest = max((encode(answer, version, api.is_flexible(version)) for answer in true), key=len)
                yield bytes((number, index)) + longest


def progress(data: bytes) -> None:
    """Any client that may commit for the group chooses its metadata."""
    state = FakeCluster()
    state.groups["sink"] = FakeGroup(1, {("t", 0): FakeCommit(7)})

    def alter(api: Api[Any, Any], answer: Any) -> Any:
        if api is OFFSET_FETCH:
            for group in answer.groups:
                for topic in group.topics:
                    for partition in topic.partitions:
                        partition.metadata = data.decode(errors="backslashreplace")
        return answer

    with suppress(PipelineError), answered_directly(state, alter) as (cluster, deadline):
        read_progress(cluster, "sink", deadline)


def progress_seeds() -> Iterator[bytes]:
    some = [
        Transaction(transactional_id=f"sink.task-{n}-0", producer_id=n, epoch=0, timeout_ms=1, is_implicit=False)
        for n in (1, 2)
    ]
    for transactions in ((), tuple(some)):
        made = BatchProgress(series="s", number=6, topic="t", open_transactions=transactions)
        yield _metadata(made, 1).encode()
    yield b"[]"
