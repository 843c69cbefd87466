"""Counts rounds in which an item of a request has no broker, or its broker does not know the topic.

Both may be a delay of metadata, or last: a few rounds tell.
"""

from dataclasses import replace

from kafka_lagoon.errors import PipelineError
from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol.error_codes import UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION

_GONE = frozenset({UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID})
_GONE_ROUNDS = 3


@frozen(kw_only=False)
class Absence:
    """The number of rounds without a broker, and with a broker that does not know the topic.

    Rounds before an answer of another kind, or before a broker that did not answer, are not counted: a broker that was away
    does not know its topics at first.
    """

    unroutable: int = 0
    gone: int = 0

    @property
    def is_gone(self) -> bool:
        """True if the topic is deleted, and not only unknown to a broker for a moment."""
        return self.gone > _GONE_ROUNDS

    def after(self, node_id: int | None, reason: PipelineError | int) -> "Absence":
        """The numbers after one more round, which the broker `node_id` refused; None if no broker is known."""
        if node_id is None:
            return replace(self, unroutable=self.unroutable + 1)
        return replace(self, gone=self.gone + 1) if reason in _GONE else PRESENT


PRESENT = Absence()
