"""Releases that brokers may be, from the APIs that they list."""

from collections.abc import Sequence

import pytest

from kafka_lagoon.admin.releases import kafka_version_range
from kafka_lagoon.protocol.messages.api_versions import ApiVersionsResponse, OfferedApi, SupportedFeature
from tests.protocol.api_lists import Listed, minor, recorded

LISTS = recorded()
KNOWN = [one for one in LISTS if not one[0].startswith("0.10")]
ZK_241, ZK_251, ZK_282 = (LISTS[one, "zookeeper"] for one in ("2.4.1", "2.5.1", "2.8.2"))


def answer(listed: Listed, level: int | None = None) -> ApiVersionsResponse:
    """An ApiVersions response of a broker that lists these APIs, and supports metadata.version up to `level`."""
    apis = (OfferedApi(api_key=key, min_version=low, max_version=high) for key, (low, high) in listed.items())
    feature = SupportedFeature(name="metadata.version", min_version=1, max_version=level or 0)
    return ApiVersionsResponse(
        error_code=0, api_keys=tuple(apis), supported_features=() if level is None else (feature,)
    )


@pytest.mark.parametrize(("release", "mode"), KNOWN)
def test_the_range_is_as_narrow_as_the_apis_allow(release: str, mode: str) -> None:
    """The range includes the actual release, and otherwise only releases that list exactly the same APIs."""
    listed = LISTS[release, mode]
    alike = list(dict.fromkeys(minor(other) for other, some in LISTS if LISTS[other, some] == listed))
    assert minor(release) in alike
    assert kafka_version_range([answer(listed)]) == " to ".join(dict.fromkeys((alike[0], alike[-1])))


def test_releases_are_distinguished() -> None:
    """2.4.1 and 2.2 have different lists, and only two releases share a list."""
    assert kafka_version_range([answer(ZK_241)]) == "2.4"
    named = {kafka_version_range([answer(LISTS[one])]) for one in KNOWN}
    assert {one for one in named if one and " " in one} == {"3.3 to 3.4"}


@pytest.mark.parametrize(("level", "expected"), [(7, "3.3"), (8, "3.4"), (99, "3.4"), (0, "3.3 to 3.4")])
def test_metadata_version_decides_where_apis_do_not(level: int, expected: str) -> None:
    """3.3 and 3.4 with KRaft list the same APIs, but support different levels of metadata.version."""
    assert kafka_version_range([answer(LISTS["3.3.2", "kraft"], level)]) == expected


@pytest.mark.parametrize(
    ("lists", "expected"),
    [
        ([], None),
        ([{}], None),
        ([ZK_251, ZK_241, ZK_282], "2.4 to 2.8"),
        ([ZK_241, {}], "2.4"),
        ([LISTS["3.9.2", "kraft"], LISTS["3.9.2", "zookeeper"]], "3.9"),
        ([LISTS["4.4.0", "kraft"], LISTS["4.4.0", "kraft"] | {3: (0, 99)}], "4.4 or newer"),
        ([LISTS["4.0.0", "kraft"], LISTS["4.0.1", "kraft"]], "4.0"),
    ],
)
def test_several_brokers(lists: Sequence[Listed], expected: str | None) -> None:
    """The range is from the oldest to the newest release of all brokers that list any API."""
    assert kafka_version_range([answer(one) for one in lists]) == expected


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        # A vendor's own APIs do not change the release.
        (ZK_241 | {10_000: (0, 3)}, "2.4"),
        # An API and a version that are newer than all known releases.
        (LISTS["4.4.0", "kraft"] | {95: (0, 0)}, "newer than 4.4"),
        (LISTS["4.4.0", "kraft"] | {18: (0, 6), 28: (0, 7)}, "newer than 4.4"),
        # All APIs of 2.4 for clients, and one that was added in 3.0.
        (ZK_241 | {66: (0, 0)}, "between 2.4 and 3.0"),
        # A broker of 4.4 with a controller of 4.1 offers the common APIs if it forwards requests.
        (LISTS["4.4.0", "kraft"] | {80: LISTS["4.1.1", "kraft"][80]}, "between 4.1 and 4.4"),
        # 2.4 without an API that only brokers use.
        ({key: one for key, one in ZK_241.items() if key != 4}, "close to 2.4"),
        # Fewer APIs than 0.11: it is only known that no API is newer than 3.1.
        ({3: (0, 12), 18: (0, 3)}, "3.1 or older"),
        ({3: (0, 99), 18: (0, 3)}, "unlike any release"),
        (LISTS["0.10.2.2", "zookeeper"], "0.11 or older"),
    ],
)
def test_what_fits_no_release(listed: Listed, expected: str) -> None:
    """A broker with APIs of no release is never reported as a single release; the range includes it all the same."""
    assert kafka_version_range([answer(listed)]) == expected


def test_a_mix_makes_the_range_of_a_cluster_one() -> None:
    """If a broker matches no release, the range of the cluster says "between", not "from ... to"."""
    odd = ZK_241 | {66: (0, 0)}
    assert kafka_version_range([answer(ZK_251), answer(odd)]) == "between 2.4 and 3.0"
    assert kafka_version_range([answer(ZK_251), answer({3: (0, 12)})]) == "3.1 or older"
