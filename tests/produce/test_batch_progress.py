"""The progress of a series of batches: kept by a group of real brokers, and read back unchanged."""

import json
from dataclasses import replace

import pytest

from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import BrokerError
from kafka_lagoon.produce.batch_progress import BatchProgress, _content, keep_progress, read_progress
from kafka_lagoon.produce.transactions import commit, init_transactions
from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.clock import CLOCK
from tests.integration.producers import create
from tests.produce.test_transactions import connected, soon

pytestmark = pytest.mark.kafka


def test_what_is_included() -> None:
    """Progress includes its batch and earlier batches of the series, and no batch of another series."""
    progress = BatchProgress(series="a", number=4, topic="t")
    assert [progress.includes("a", number) for number in (3, 4, 5)] == [True, True, False]
    assert not progress.includes("b", 4)


@pytest.mark.parametrize(
    "changed",
    [{"series": 1}, {"groups": 0}, {"groups": 10**9}, {"id": None}, {"implicit": 0}, {"open": [["a", 1]]}, {"more": 1}],
)
def test_metadata_of_other_writers(changed: dict[str, object]) -> None:
    """Every client that may commit for the group chooses metadata; what is not as we write it is another writer's."""
    ours = {"series": "s", "groups": 1, "id": "t", "timeout_ms": 1, "implicit": False, "open": [["", 1, 0]]}
    assert _content(json.dumps(ours)) == ours
    assert [_content(text) for text in (json.dumps(ours | changed), "[" * 5_000, "[]", None)] == [None] * 4


def test_a_transaction_holds_it(kafka: LocalKafka) -> None:
    """The progress counts once the transaction is committed, and a later series replaces an earlier one."""
    topic = f"progress-{CLOCK.now_ms()}"
    create(kafka, topic)
    with connected(kafka, topic) as cluster:
        assert read_progress(cluster, topic, soon()) == []
        for series, number in (("a", 0), ("a", 1), ("b", 0)):
            transaction = init_transactions(cluster, topic, 60_000, soon())
            progress = BatchProgress(series=series, number=number, topic=topic)
            keep_progress(cluster, transaction, topic, progress, soon())
            commit(cluster, transaction, soon())
            init_transactions(cluster, topic, 60_000, soon())  # waits until the commit is in the group's log
            assert read_progress(cluster, topic, soon()) == [progress]


def test_a_pending_transaction_is_waited_for(kafka: LocalKafka) -> None:
    """A reader waits for a pending commit, which may replace the current one; it raises if the commit does not end in time."""
    topic = f"pending-{CLOCK.now_ms()}"
    create(kafka, topic)
    with connected(kafka, topic) as cluster:
        first, second = (BatchProgress(series="a", number=number, topic=topic) for number in range(2))
        for progress in (first, second):
            transaction = init_transactions(cluster, topic, 60_000, soon())
            keep_progress(cluster, transaction, topic, progress, soon())
            if progress is second:
                with pytest.raises(BrokerError, match="UNSTABLE_OFFSET_COMMIT"):
                    read_progress(cluster, topic, Deadline.after(CLOCK, 2_000))  # a busy broker takes its time
            commit(cluster, transaction, soon())
        assert read_progress(cluster, topic, soon()) == [second]


def test_many_transactions_are_kept(kafka: LocalKafka) -> None:
    """The open transactions may need more space than the metadata of one commit."""
    topic = f"many-{CLOCK.now_ms()}"
    create(kafka, topic)
    with connected(kafka, topic) as cluster:
        deciding = init_transactions(cluster, topic, 60_000, soon())
        every = tuple(replace(deciding, transactional_id=f"{topic}.task-{number}-0") for number in range(250))
        progress = BatchProgress(series="query", number=3, topic=topic, open_transactions=every)
        keep_progress(cluster, deciding, topic, progress, soon())
        commit(cluster, deciding, soon())
        init_transactions(cluster, topic, 60_000, soon())
        assert read_progress(cluster, topic, soon()) == [progress]
