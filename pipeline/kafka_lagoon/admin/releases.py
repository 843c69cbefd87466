"""Guesses the Kafka releases of brokers, from the APIs and versions that they list.

Brokers do not return their release. The range is for people; no code may decide by it (docs/decisions, 12).
"""

from collections.abc import Iterable, Mapping

from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol.messages.api_versions import ApiVersionsResponse
from kafka_lagoon.protocol.release_apis import RELEASES
from kafka_lagoon.protocol.releases import ApiList, api_lists
from kafka_lagoon.wire.schema import Versions

_NEWEST = len(RELEASES) - 1
_NEWER = len(RELEASES)  # than all known releases
_PRIVATE = 1_000  # keys from here on are a vendor's own

UNLIKE_ANY = "unlike any release"  # new APIs, but not all that the oldest release has

# Brokers with KRaft list the same APIs in these two; the highest metadata.version that they support differs.
_METADATA_VERSIONS = {"3.3": 7, "3.4": 8}


@frozen
class ReleaseRange:
    """Releases from `lowest` to `highest`, by position in RELEASES; `lowest` is None if it is older than all.

    `fits`: each release lists exactly these APIs. Otherwise brokers offer all client APIs of `lowest`, and nothing
    newer than `highest`: a cluster during an upgrade, or another implementation of the protocol.
    """

    lowest: int | None
    highest: int
    fits: bool

    def __str__(self) -> str:
        """The range in words, e.g. `3.9`, `2.4 to 2.7`, `between 2.4 and 3.7`, `newer than 4.4`."""
        if self.lowest is None:
            return UNLIKE_ANY if self.highest == _NEWER else f"{RELEASES[self.highest]} or older"
        if self.lowest == _NEWER:
            return f"newer than {RELEASES[-1]}"
        lowest = RELEASES[self.lowest]
        if self.highest == _NEWER:
            return f"{lowest} or newer"
        if self.lowest == self.highest:
            return lowest if self.fits else f"close to {lowest}"
        highest = RELEASES[self.highest]
        return f"{lowest} to {highest}" if self.fits else f"between {lowest} and {highest}"


def kafka_version_range(answers: Iterable[ApiVersionsResponse]) -> str | None:
    """The releases that the brokers of a cluster may be, from the oldest to the newest; None when no broker answered."""
    ranges = [some for answer in answers if (some := release_range(answer))]
    if not ranges:
        return None
    known = [some.lowest for some in ranges if some.lowest is not None]
    lowest = min(known) if len(known) == len(ranges) else None
    highest = max(some.highest for some in ranges)
    return str(ReleaseRange(lowest=lowest, highest=highest, fits=all(some.fits for some in ranges)))


def release_range(answer: ApiVersionsResponse) -> ReleaseRange | None:
    """The releases that a broker may be; None when it lists no API."""
    listed = {one.api_key: Versions(one.min_version, one.max_version) for one in answer.api_keys}
    if not listed:
        return None
    fitting = _by_metadata_version({one.release for one in api_lists() if _fits(one, listed)}, answer)
    if fitting:
        numbers = sorted(map(RELEASES.index, fitting))
        return ReleaseRange(lowest=numbers[0], highest=numbers[-1], fits=True)
    return _between(listed)


def _fits(known: ApiList, listed: Mapping[int, Versions]) -> bool:
    """True if a broker with this list may be of that release."""
    keys = known.offers.keys() | {key for key in listed if key < _PRIVATE}
    return all(listed.get(key) in known.offers.get(key, (None,)) for key in keys)


def _by_metadata_version(fitting: set[str], answer: ApiVersionsResponse) -> set[str]:
    """The releases of `fitting` that support the broker's highest metadata.version."""
    highest = max((one.max_version for one in answer.supported_features if one.name == "metadata.version"), default=0)
    reached = [one for one in fitting if _METADATA_VERSIONS.get(one, highest + 1) <= highest]
    return {max(reached, key=RELEASES.index)} if reached else fitting


def _between(listed: Mapping[int, Versions]) -> ReleaseRange:
    covered = [RELEASES.index(one.release) for one in api_lists() if not one.unstable and _covers(listed, one)]
    lowest = max(covered, default=None)
    highest = max((_introduced(key, one.highest) for key, one in listed.items() if key < _PRIVATE), default=0)
    if highest == _NEWER and lowest == _NEWEST:
        lowest = _NEWER
    return ReleaseRange(lowest=lowest, highest=max(highest, lowest or 0), fits=False)


def _covers(listed: Mapping[int, Versions], known: ApiList) -> bool:
    """True if a broker offers the highest versions of all APIs that clients of that release use."""
    from kafka_lagoon.protocol.apis import APIS  # noqa: PLC0415  all 75 APIs; who only reads schemas does without

    wanted = ((key, versions) for key in known.offers.keys() & APIS.keys() if (versions := known.usual(key)))
    return all(key in listed and listed[key].highest >= versions.highest for key, versions in wanted)


def _introduced(api_key: int, version: int) -> int:
    """The first release that may offer this version of an API, with whatever settings."""
    offering = (
        RELEASES.index(one.release)
        for one in api_lists()
        if any(some and some.highest >= version for some in one.offers.get(api_key, ()))
    )
    return min(offering, default=_NEWER)
