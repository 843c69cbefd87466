"""Compares messages of every API and version with the codecs that Kafka generates, of both releases.

A case is one random message of each API, version and side; case 0 has a message of defaults beside it.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from random import Random
from typing import Any

from tests.examples import CASES, Case, any_message, any_text
from tests.oracle.agreement import disagreements, judges
from tests.oracle.jars import KAFKAS
from tests.oracle.java_codec import JavaCodec, java_codec
from tests.proof.differential.report import Cases, Report

NAME = "messages"
_CHUNK = 50  # messages in one call of Java


def compare_messages(cases: Cases, report: Report) -> None:
    """Compare both directions of every case with each release that knows the version."""
    with ExitStack() as running:
        codecs = [running.enter_context(java_codec(kafka)) for kafka in KAFKAS]
        for case in CASES:
            for start in range(0, len(cases.numbers), _CHUNK):
                some = Cases(cases.seed, cases.numbers[start : start + _CHUNK])
                compare(list(judges(codecs, case)), case, some, report)
        report.compared["API versions"] = len(CASES) // 2


def compare(codecs: Sequence[JavaCodec], case: Case, cases: Cases, report: Report) -> None:
    """Compare some messages of one side of an API in one version."""
    numbered = list(_drawn(case, cases))
    messages = [message for _, message in numbered]
    for codec in codecs:
        name = f"{case.cls.__name__}Data"
        for place, text in disagreements(codec, name, case.version, case.flexible, messages):
            report.differ(NAME, numbered[place][0], f"{case} and Kafka {codec.kafka}: {text}")
        report.happened[f"messages judged by Kafka {codec.kafka}"] += len(messages)
    report.compared["messages"] += len(messages) if codecs else 0
    if not codecs:
        report.differ(NAME, cases.numbers.start, f"{case} is known to no release")


def _drawn(case: Case, cases: Cases) -> Iterator[tuple[int, Any]]:
    for number in cases.numbers:
        if number == 0:
            yield number, case.cls()
        yield number, any_message(Random(f"{case} {cases.seed_of(NAME, number)}"), case.cls, case.version, any_text)
