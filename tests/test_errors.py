"""Every error is a line for people, in Kafka's words and without Python's spelling."""

import inspect
from typing import Any

import pytest

from kafka_lagoon import errors
from kafka_lagoon.cli.output import failure_lines
from kafka_lagoon.client.failures import Failure, Scope, failure_of
from kafka_lagoon.errors import BrokerError, PipelineError, UnsupportedVersion
from kafka_lagoon.protocol.error_codes import ERROR_CODES
from kafka_lagoon.protocol.messages.metadata import METADATA
from kafka_lagoon.source.plan import refuse_failures
from kafka_lagoon.topic_partition import TopicPartition
from tests.plain_lines import python_in

SCOPES = (
    Scope.of_partition("solo", 2),
    Scope.broker(3),
    Scope.group("a"),
    Scope.list("all topics"),
    Scope.group_partition("a", "solo", 2),
)
SPELLED = ("solo-2", "broker 3", "group a", "all topics", "group a, solo-2")
# A value for each argument of an error.
_VALUES: dict[str, Any] = {
    "problems": ["kafka.client_id: must be text"],
    "changes": ["topic orders was absent"],
    "ours": (4, 13),
    "theirs": (0, 3),
    "broker": "broker 7",
    "needed": "Kafka 0.11 or newer",
    "scope": "solo-2",
    "code": 3,
}
_BY_TYPE = {str: "words", int: 5}
CLASSES = [one for _, one in inspect.getmembers(errors, inspect.isclass) if issubclass(one, PipelineError)]


def made(cls: type[PipelineError]) -> PipelineError:
    """Make an error of a class, with arbitrary values."""
    if cls.__init__ is Exception.__init__:
        return cls("words")
    arguments = list(inspect.signature(cls.__init__).parameters.values())[1:]
    return cls(*(_VALUES.get(one.name, _BY_TYPE.get(one.annotation)) for one in arguments))


@pytest.mark.parametrize("cls", CLASSES)
def test_an_error_in_words(cls: type[PipelineError]) -> None:
    """No error shows a value as Python spells it."""
    assert python_in(str(made(cls))) == []


@pytest.mark.parametrize(("scope", "spelled"), list(zip(SCOPES, SPELLED, strict=True)))
def test_what_a_failure_is_about(scope: Scope, spelled: str) -> None:
    """Every failure, of any kind and about anything, is one line that names its subject as Kafka does."""
    refusals = [*map(made, CLASSES), *ERROR_CODES]
    for refusal in refusals:
        failure = failure_of(METADATA, scope, refusal, node_id=1)
        (line,) = failure_lines([failure])
        assert line.startswith(f"{spelled}: Metadata"), line
        assert python_in(line) == []
        with pytest.raises(BrokerError) as raised:
            refuse_failures([failure])
        assert python_in(str(raised.value)) == []
        assert f" {spelled}: " in str(raised.value)


def test_a_partition_in_a_sentence() -> None:
    """A partition in any text is spelled as in Kafka's own logs."""
    assert f"{TopicPartition('a-b', 0)}" == "a-b-0"


def test_brokers_that_are_too_old_share_a_line() -> None:
    """A release that is too old is one line for all brokers; other refusals are a line per broker."""
    old = UnsupportedVersion("Metadata", (4, 13), None, "broker 1", "Kafka 0.11 or newer")
    failures = [failure_of(METADATA, Scope.broker(number), old, node_id=number) for number in (1, 2)]
    assert list(failure_lines(failures)) == [
        "broker 1, broker 2: Metadata: UNSUPPORTED_VERSION (needs Kafka 0.11 or newer)"
    ]
    by_broker: list[Failure] = [failure_of(METADATA, Scope.broker(number), 35, node_id=number) for number in (1, 2)]
    assert len(list(failure_lines(by_broker))) == 2


@pytest.mark.parametrize(
    ("theirs", "needed", "expected"),
    [
        (None, "Kafka 3.0 or newer", "Metadata needs Kafka 3.0 or newer; broker 7 does not offer it"),
        ((0, 3), "Kafka 0.11 or newer", "Metadata needs Kafka 0.11 or newer; broker 7 is older"),
        (None, None, "Metadata: broker 7 does not offer it"),
        (
            (20, 22),
            "Kafka 0.11 or newer",
            "Metadata: broker 7 offers versions 20 to 22, this release of Kafka Lagoon speaks 4 to 13",
        ),
    ],
)
def test_versions_that_do_not_meet(theirs: tuple[int, int] | None, needed: str | None, expected: str) -> None:
    """For an old broker the error names the release that is needed; for a newer one it names the versions of both sides."""
    assert str(UnsupportedVersion("Metadata", (4, 13), theirs, "broker 7", needed)) == expected
