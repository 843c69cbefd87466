"""Differences between a restored topic and its source are found, whichever client sees them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.integration.java_reader import Reading
from tests.integration.producers import Consumed
from tests.proof.differential import restores
from tests.proof.differential.restores import Drill

RECORD = Consumed(3, 1_000, 0, b"k", b"v", (("h", None),))
MOVED, ALTERED = RECORD._replace(offset=9), RECORD._replace(headers=(("h", b""),))
Topics = Mapping[str, Sequence[Consumed]]


def _drill(by_java: Topics, by_librdkafka: Topics, monkeypatch: pytest.MonkeyPatch) -> Drill:
    """A drill whose clients read these records in partition 0."""
    reader: Any = SimpleNamespace(read=lambda _, topic: Reading({0: by_java[topic]}, {0: 10}))
    cluster: Any = SimpleNamespace(bootstrap_servers="nowhere")
    monkeypatch.setattr(restores, "consume", lambda _, starts, *__: {topic: by_librdkafka[topic] for topic in starts})
    return Drill(cluster, reader, [], Path("/nowhere"))


def test_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other offsets are none."""
    read = {"t": [RECORD], "back-t": [MOVED]}
    assert _drill(read, read, monkeypatch).compared("t") == 1


@pytest.mark.parametrize("topic", ["t", "back-t"])
@pytest.mark.parametrize("client", ["Java", "librdkafka"])
def test_a_difference_is_found(topic: str, client: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In either topic, by either client."""
    good = {"t": [RECORD], "back-t": [MOVED]}
    bad = {**good, topic: [ALTERED]}
    drill = _drill(*((bad, good) if client == "Java" else (good, bad)), monkeypatch)
    with pytest.raises(AssertionError, match="record 0 is"):
        drill.compared("t")
