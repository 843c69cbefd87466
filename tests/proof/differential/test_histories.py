"""Differences to Kafka's Java consumer are found in a history of transactions on real brokers."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random

import pytest

from kafka_lagoon.fetch.split import READ_UNCOMMITTED, ReadOptions
from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.integration.java_reader import java_reader
from tests.proof.differential import our_reader
from tests.proof.differential.drawn_history import any_history
from tests.proof.differential.histories import World
from tests.proof.differential.report import Cases, Report
from tests.proof.differential.writers import LibrdkafkaWriter


def test_what_is_drawn() -> None:
    """The same of the same seed; transactions of all three ends; every writer has as many."""
    history = any_history(Random("a"), 8, 500)
    assert history == any_history(Random("a"), 8, 500)
    assert {one.end for _, some in history.of_writers for one in some} == {"commit", "abort", "abandon"}
    assert 450 < history.transactions < 510
    assert len({len(some) for _, some in history.of_writers}) == 1


@pytest.fixture(scope="module")
def world(kafka: LocalKafka) -> Iterator[World]:
    """The brokers of all tests, with three producers of librdkafka."""
    writers = [LibrdkafkaWriter(kafka.bootstrap_servers, f"history-{one}", "none") for one in range(3)]
    with java_reader(kafka.version) as reader:
        yield World(kafka, reader, writers, Path("/nowhere"), transactions=45)


def _compared(world: World, seed: int) -> Report:
    """Compare case 0 of a seed. Each test has a seed of its own, because the topics stay."""
    report = Report(seed)
    with report.judging("histories", seed):
        world.compare(Cases(seed, range(1)), seed, report)
    return report


@pytest.mark.kafka
@pytest.mark.timeout(300)
def test_no_difference(world: World) -> None:
    """Committed records are equal, while a transaction is open."""
    report = _compared(world, 1)
    assert report.differences == []
    assert report.compared["transactions"] == 48
    assert report.compared["records of histories"]


@pytest.mark.kafka
@pytest.mark.timeout(300)
def test_records_of_aborted_transactions_are_found(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that returns them differs."""
    monkeypatch.setattr(our_reader, "ReadOptions", partial(ReadOptions, isolation_level=READ_UNCOMMITTED))
    (difference,) = _compared(world, 2).differences
    assert "records instead of" in difference.text
