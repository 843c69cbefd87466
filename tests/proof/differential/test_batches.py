"""Differences in batches are found: between the fast decoder, the reference decoder and Java, and in what we write."""

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest

from tests.oracle import test_records
from tests.oracle.jars import KAFKAS
from tests.oracle.memory_records import JavaRecords, java_records
from tests.oracle.our_batches import Batch
from tests.proof.differential import batches
from tests.proof.differential.report import Report

pytestmark = pytest.mark.java


@pytest.fixture(scope="module")
def release() -> Iterator[JavaRecords]:
    """MemoryRecords of the newer release."""
    with java_records(KAFKAS[0]) as running:
        yield running


@pytest.fixture
def compared(release: JavaRecords, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Report]:
    """Compares a few batches, which Java writes and which we write."""
    monkeypatch.setattr(batches, "_OF_JAVA", 20)

    def compare() -> Report:
        report = Report(1)
        batches.compare_written_by_java([release, release], Random("java"), 7, report)
        batches.compare_written_by_us(release, Random("ours"), 7, report)
        return report

    return compare


def test_no_difference(compared: Callable[[], Report]) -> None:
    """All is counted."""
    report = compared()
    assert report.differences == []
    assert report.compared["batches of Java"] > 30
    assert report.compared["batches of ours"] == 10


def _altered(reading: test_records.Reading) -> test_records.Reading:
    """The reading with another value in its last row."""
    rows = [*reading.rows[:-1], (*reading.rows[-1][:4], b"altered", *reading.rows[-1][5:])] if reading.rows else []
    return reading._replace(rows=rows)


@pytest.mark.parametrize("decoder", ["fast", "slow"])
def test_another_value_is_found(compared: Callable[[], Report], decoder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In what either decoder reads."""
    real = getattr(test_records, decoder)
    monkeypatch.setattr(test_records, decoder, lambda raw: _altered(real(raw)))
    differences = compared().differences
    assert len(differences) > 10
    assert {one.number for one in differences} == {7}


def _with_a_later_time(made: Batch) -> Batch:
    first, *rest = made.records
    return made._replace(records=[first._replace(timestamp_ms=first.timestamp_ms ^ 1), *rest])


@pytest.mark.parametrize("encoder", ["of_tuples", "of_columns"])
def test_another_time_is_found(compared: Callable[[], Report], encoder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In what either encoder writes."""
    real: Any = getattr(batches, encoder)
    monkeypatch.setattr(batches, encoder, lambda made, codec=0: real(_with_a_later_time(made), codec))
    assert len(compared().differences) == 10
