"""Messages of `lagoon kafka offsets` about brokers that are too old for a kind of offset."""

import re

import pytest

from kafka_lagoon.admin.offsets import ALL_KINDS, HIGH_WATERMARK, LOG_START, Kind
from kafka_lagoon.cli.kafka.offsets import _SINCE
from kafka_lagoon.protocol.messages.list_offsets import LIST_OFFSETS
from kafka_lagoon.protocol.releases import release_needed
from kafka_lagoon.wire.schema import LATEST, Versions


@pytest.mark.parametrize("kind", _SINCE)
def test_the_release_is_the_first_whose_brokers_list_it(kind: Kind) -> None:
    """The release of each kind is the first in the table of releases that lists its version of ListOffsets."""
    needed = release_needed(LIST_OFFSETS.key, Versions(kind.since, LATEST))
    [release] = re.findall(r"\(Kafka (\S+)\)", _SINCE[kind])
    assert needed == f"Kafka {release} or newer"


def test_every_kind_that_old_brokers_lack_has_a_release() -> None:
    """All supported brokers return the start and the end of logs."""
    assert {kind for kind in ALL_KINDS if kind not in _SINCE} == {LOG_START, HIGH_WATERMARK}
