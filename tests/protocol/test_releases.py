"""APIs of the brokers of each release, against lists that Kafka's own code made."""

from collections.abc import Sequence
from functools import cache

import pytest

from kafka_lagoon.protocol.apis import APIS, api_name
from kafka_lagoon.protocol.messages.describe_quorum import DESCRIBE_QUORUM
from kafka_lagoon.protocol.messages.list_offsets import LIST_OFFSETS
from kafka_lagoon.protocol.messages.list_transactions import LIST_TRANSACTIONS
from kafka_lagoon.protocol.messages.metadata import METADATA
from kafka_lagoon.protocol.release_apis import RELEASES, TABLE
from kafka_lagoon.protocol.releases import api_lists, release_needed
from kafka_lagoon.wire.schema import LATEST, Versions
from tests.protocol.api_lists import Listed, minor, recorded

MODES = {"zookeeper": "zk", "kraft": "kraft"}


@pytest.mark.parametrize(("release", "mode"), [one for one in recorded() if not one[0].startswith("0.10")])
def test_the_table_holds_what_kafka_lists(release: str, mode: str) -> None:
    """The table has every API and range of the lists that Kafka's own code made, and no other API."""
    ranges, (plain, _, variant) = recorded()[release, mode], mode.partition("+")
    (known,) = (
        one
        for one in api_lists()
        if (one.release, one.mode, one.unstable) == (minor(release), MODES[plain], variant == "unstable")
    )
    listed = {key: Versions(*versions) for key, versions in ranges.items()}
    assert {key: listed.get(key) for key, some in known.offers.items() if listed.get(key) not in some} == {}
    assert listed.keys() <= known.offers.keys()
    usual = {key: versions for key in known.offers if (versions := known.usual(key))}
    if not variant and release != "4.0.0":
        assert usual == listed


def test_the_table_has_kafkas_names() -> None:
    """The names in the table, which are for readers, are those of the APIs."""
    words = TABLE.split()
    named = {int(word): words[i + 1] for i, word in enumerate(words) if word.isdecimal()}
    assert named == {key: api_name(key) for key in named}


@pytest.mark.parametrize("key", APIS)
def test_the_release_that_a_version_needs(key: int) -> None:
    """The result is the first release from which on every list has the version, and says if that needs KRaft."""
    for version in APIS[key].versions:
        expected = {mode: release for mode in MODES if (release := _since(mode, key, version))}
        first = min(expected.values(), key=RELEASES.index, default=None)
        words = f"Kafka {first} or newer" + ("" if "zookeeper" in expected else " with KRaft")
        assert release_needed(key, Versions(version, LATEST)) == (words if first else None)


def _since(mode: str, key: int, version: int) -> str | None:
    since = None
    for release, listed in _lists(mode):
        offered = key in listed and listed[key][1] >= version
        since = (since or minor(release)) if offered else None
    return since


@cache
def _lists(mode: str) -> Sequence[tuple[str, Listed]]:
    """Known releases, in order."""
    return [
        (release, listed)
        for (release, known), listed in recorded().items()
        if known == mode and minor(release) in RELEASES
    ]


@pytest.mark.parametrize(
    ("api", "version", "expected"),
    [
        (METADATA, 4, "Kafka 0.11 or newer"),
        (LIST_TRANSACTIONS, 0, "Kafka 3.0 or newer"),
        (LIST_TRANSACTIONS, 1, "Kafka 3.8 or newer"),
        (LIST_OFFSETS, 7, "Kafka 3.0 or newer"),
        (DESCRIBE_QUORUM, 0, "Kafka 2.8 or newer with KRaft"),
        (METADATA, 99, None),
    ],
)
def test_known_examples(api: object, version: int, expected: str | None) -> None:
    """The releases are those that KIPs name."""
    assert release_needed(api.key, Versions(version, LATEST)) == expected
