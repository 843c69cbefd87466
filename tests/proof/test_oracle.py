"""The reader of the proof does not take for an offset what librdkafka returns where there is none."""

from collections.abc import Iterable
from concurrent.futures import Future
from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from tests.proof import oracle
from tests.proof.evidence import Partition
from tests.proof.load import LiveTopic

_INVALID = -1001
ORDERS = LiveTopic(name="orders", kind="plain", topic_id="id", partitions=1)


def kafka(offsets: list[int], monkeypatch: pytest.MonkeyPatch, timeout_s: int = 5) -> oracle.Kafka:
    """Make a reader whose brokers answer with these offsets, one after the other."""

    def list_offsets(wanted: Iterable[TopicPartition], **_: object) -> dict[TopicPartition, Future[SimpleNamespace]]:
        answers = {partition: Future[SimpleNamespace]() for partition in wanted}
        for future in answers.values():
            future.set_result(SimpleNamespace(offset=offsets.pop(0) if len(offsets) > 1 else offsets[0]))
        return answers

    monkeypatch.setattr(oracle, "_PAUSE_S", 0)
    monkeypatch.setattr(oracle, "AdminClient", lambda _: SimpleNamespace(list_offsets=list_offsets))
    return oracle.Kafka("127.0.0.1:1", timeout_s=timeout_s)


def test_invalid_offsets(monkeypatch: pytest.MonkeyPatch) -> None:
    """It asks again where the answer is no offset, and fails in the end."""
    assert kafka([_INVALID, _INVALID, 7], monkeypatch).starts([ORDERS]) == {Partition("id", 0): 7}
    with pytest.raises(KafkaException) as raised:
        kafka([_INVALID], monkeypatch, timeout_s=0).starts([ORDERS])
    assert raised.value.args[0].code() == KafkaError._NO_OFFSET
