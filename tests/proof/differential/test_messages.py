"""Differences in messages are found, in either direction, against a codec that answers as ours does."""

import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from kafka_lagoon.wire.reading import decode
from kafka_lagoon.wire.writing import encode
from tests.examples import CASES, Case
from tests.oracle.java_codec import Example, from_json, to_json
from tests.proof.differential.messages import compare
from tests.proof.differential.report import Cases, Report

CASE = next(case for case in CASES if str(case) == "MetadataResponse-v12")
CASES_OF_TEST = Cases(1, range(6))


class Mirror:
    """Answers like Kafka's codec, but by ours: `written` and `read` alter its answers."""

    kafka = "of a mirror"

    def __init__(
        self,
        case: Case,
        written: Callable[[bytes], bytes | None] = lambda raw: raw,
        read: Callable[[Any], Any] = lambda message: message,
    ) -> None:
        self._case, self._written, self._read = case, written, read

    def encode(self, examples: Iterable[Example]) -> list[bytes | None]:
        """The bytes of each message."""
        cls, version, flexible = self._case.cls, self._case.version, self._case.flexible
        messages = [from_json(cls, version, json.loads(json.dumps(one.message))) for one in examples]
        return [self._written(encode(message, version, flexible)) for message in messages]

    def decode(self, _name: str, version: int, encoded: Iterable[bytes]) -> list[Any]:
        """The messages in JSON."""
        cls, flexible = self._case.cls, self._case.flexible
        return [self._read(to_json(decode(cls, version, flexible, raw), version)) for raw in encoded]


def _differences(codec: Any) -> Report:
    report = Report(1)
    compare([codec], CASE, CASES_OF_TEST, report)
    return report


def test_no_difference() -> None:
    """Case 0 has a message of defaults beside the drawn one."""
    report = _differences(Mirror(CASE))
    assert report.differences == []
    assert report.compared == {"messages": 7}


@pytest.mark.parametrize(
    "codec",
    [
        Mirror(CASE, written=lambda raw: raw[:-1] + bytes((raw[-1] ^ 1,))),
        Mirror(CASE, written=lambda _: None),
        Mirror(CASE, read=lambda message: message | {"throttleTimeMs": message["throttleTimeMs"] ^ 1}),
        Mirror(CASE, read=lambda _: "Kafka refuses it"),
    ],
    ids=["a bit that is written", "a refusal to write", "a field that is read", "a refusal to read"],
)
def test_a_difference_is_found(codec: Mirror) -> None:
    """It is found in each message, and the number of the case is that of the message."""
    report = _differences(codec)
    assert [one.number for one in report.differences] == [0, *CASES_OF_TEST.numbers]
    assert "MetadataResponse-v12 and Kafka of a mirror" in report.differences[0].text


def test_a_version_without_a_judge_is_found() -> None:
    """If no release knows a version, nothing was compared."""
    report = Report(1)
    compare([], CASE, CASES_OF_TEST, report)
    assert [one.text for one in report.differences] == ["MetadataResponse-v12 is known to no release"]
    assert not report.compared["messages"]
