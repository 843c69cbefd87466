"""Transactions are written in order, and one that its producer gives up does not end a history."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from confluent_kafka import KafkaException

from tests.integration.producers import Sent
from tests.proof.differential.drawn_history import Transaction
from tests.proof.differential.writers import write

FIRST, SECOND = Sent(b"1", None), Sent(b"2", None)


@dataclass
class Recorder:
    """A producer that records its calls, and fails to commit after this record."""

    failing: Sent | None = None
    calls: list[object] = field(default_factory=list)

    def begin(self) -> None:
        """Record it."""
        self.calls.append("begin")

    def send(self, _topic: str, records: Sequence[Sent]) -> None:
        """Record the records."""
        self.calls += records

    def end(self, how: str) -> None:
        """Record it, or fail."""
        if how == "commit" and self.calls[-1] == self.failing:
            raise KafkaException("it took too long")
        self.calls.append(how)


def test_transactions_are_written_in_order() -> None:
    """With all their portions."""
    writer = Recorder()
    assert write(writer, "t", [Transaction([[FIRST], [SECOND]], "commit"), Transaction([[FIRST]], "abort")]) == 0
    assert writer.calls == ["begin", FIRST, SECOND, "commit", "begin", FIRST, "abort"]


def test_a_transaction_that_is_given_up() -> None:
    """It is abandoned and counted, and the next one begins."""
    writer = Recorder(failing=FIRST)
    assert write(writer, "t", [Transaction([[FIRST]], "commit"), Transaction([[SECOND]], "commit")]) == 1
    assert writer.calls == ["begin", FIRST, "abandon", "begin", SECOND, "commit"]
