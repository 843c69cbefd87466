"""A load knows which of its records are in the log, and which of them a job that starts now must find."""

from types import SimpleNamespace
from typing import Any

import pytest

from tests.proof.evidence import Partition
from tests.proof.load import Known, LiveTopic, Load

PARTITION = Partition("id", 1)


@pytest.mark.parametrize(("kind", "ends"), [("plain", {PARTITION: 8}), ("transactional", {})])
def test_records_that_must_be_found(kind: str, ends: dict[Partition, int]) -> None:
    """An acknowledged record can be read at once, unless an open transaction of its topic may hold it back."""
    topic = LiveTopic(name="t", kind=kind, topic_id="id", partitions=2)
    load = Load(name="l", topic=topic, records=1, size=10, seconds=0, codec="none")
    known, message = Known(), SimpleNamespace(partition=lambda: 1, offset=lambda: 7)
    delivered: Any = load._delivered
    delivered(known, "digest", None, message)
    assert known.committed == {PARTITION: {7: "digest"}}
    assert (known.ends, known.acknowledged) == (ends, 1)
