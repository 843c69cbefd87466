"""After a lost response or a timeout the topic is described before the outcome is decided; nothing is sent again."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from kafka_lagoon.apply import outcomes
from kafka_lagoon.cli.main import main
from kafka_lagoon.protocol.messages.create_topics import (
    CREATE_TOPICS,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from kafka_lagoon.protocol.messages.metadata import METADATA
from tests.fake.answers import SPOKEN
from tests.fake.broker import FakeBroker
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Action, Altered, Close, Fault

TIMED_OUT = 7
Run = Callable[[Action], tuple[int, str, str]]


def created(state: FakeCluster, _node: int, _version: int, request: CreateTopicsRequest) -> CreateTopicsResponse:
    """A controller that creates topics, or only accepts their validation."""
    for topic in () if request.validate_only else request.topics:
        state.add_topic(topic.name, topic.num_partitions)
    results = tuple(CreatableTopicResult(name=topic.name, error_code=0, configs=()) for topic in request.topics)
    return CreateTopicsResponse(topics=results)


def timed_out(response: Any) -> Any:
    """The response of a controller that took too long."""
    return replace(response, topics=tuple(replace(topic, error_code=TIMED_OUT) for topic in response.topics))


@pytest.fixture
def run(
    state: FakeCluster,
    brokers: dict[int, FakeBroker],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Run:
    """Return exit code, outcome and error of a creation after whose validation the controller answers with this."""
    monkeypatch.setattr(outcomes, "DECIDE_MS", 2_000)  # a busy machine answers late
    monkeypatch.setitem(SPOKEN, CREATE_TOPICS.key, (CREATE_TOPICS, created))
    server = f"--bootstrap-servers=127.0.0.1:{brokers[1].server_address[1]}"

    def run(action: Action) -> tuple[int, str, str]:
        state.faults = [Fault(CREATE_TOPICS.key, Altered(lambda valid: valid)), Fault(CREATE_TOPICS.key, action)]
        exit_code = main(["admin", "create-topic", "new", "--partitions", "3", server, "--yes", "--json"])
        (result,) = map(json.loads, capsys.readouterr().out.splitlines())
        assert state.count(CREATE_TOPICS.key) == 2  # one validation and one request
        return exit_code, result["outcome"], result["error_name"]

    return run


def test_a_timeout_of_what_was_done_is_done(run: Run) -> None:
    """The topic exists: exit 0, with the timeout beside it."""
    assert run(Altered(timed_out)) == (0, "done", "REQUEST_TIMED_OUT")


def test_a_lost_answer_of_what_was_done_is_done(run: Run) -> None:
    """The topic exists after the connection was lost: exit 0."""
    assert run(Close()) == (0, "done", "CONNECTION_LOST")


def test_a_timeout_of_what_is_not_there_is_unknown(state: FakeCluster, run: Run) -> None:
    """The topic does not appear for as long as the verb waits; a frozen broker may create it later: exit 3."""

    def undone(response: Any) -> Any:
        del state.topics["new"]
        return timed_out(response)

    assert run(Altered(undone)) == (3, "unknown", "REQUEST_TIMED_OUT")


def test_another_state_is_unknown(state: FakeCluster, run: Run) -> None:
    """Another client has created a topic of this name: exit 3."""

    def another(response: Any) -> Any:
        state.add_topic("new", 7)
        return timed_out(response)

    assert run(Altered(another)) == (3, "unknown", "REQUEST_TIMED_OUT")


def test_what_cannot_be_described_is_unknown(state: FakeCluster, run: Run) -> None:
    """Neither a response nor the live state shows the outcome: exit 3."""

    def hidden(response: Any) -> Any:
        refuse = Altered(
            lambda metadata: replace(metadata, topics=tuple(replace(topic, error_code=29) for topic in metadata.topics))
        )
        state.faults.append(Fault(METADATA.key, refuse, times=100))
        return timed_out(response)

    assert run(Altered(hidden)) == (3, "unknown", "REQUEST_TIMED_OUT")
