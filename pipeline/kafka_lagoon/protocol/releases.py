"""Tells which APIs the brokers of each Kafka release offer, and which release first offers a version of an API."""

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import takewhile

from kafka_lagoon.frozen import frozen
from kafka_lagoon.protocol.release_apis import RELEASES, TABLE
from kafka_lagoon.wire.schema import Versions

_ZOOKEEPER, _KRAFT = "zk", "kraft"
_RELEASES_OF = {_ZOOKEEPER: RELEASES[: RELEASES.index("4.0")], _KRAFT: RELEASES[RELEASES.index("2.8") :]}

Offers = Sequence[Versions | None]  # what brokers offer of an API, the usual range first; None if they do not offer it


@frozen
class ApiList:
    """The versions that brokers of a release offer of each API, by key; APIs that are absent are never offered.

    `unstable`: with unstable.api.versions.enable, which is off by default.
    """

    release: str
    mode: str
    unstable: bool
    offers: Mapping[int, Offers]

    def usual(self, api_key: int) -> Versions | None:
        """The versions that brokers offer, None if most do not offer the API."""
        return self.offers.get(api_key, (None,))[0]


@cache
def api_lists() -> Sequence[ApiList]:
    """The lists of all releases, oldest first: on ZooKeeper and with KRaft, without and with unstable versions."""
    lists: dict[tuple[str, str, bool], dict[int, Offers]] = {
        (release, mode, unstable): {}
        for release in RELEASES
        for mode in _RELEASES_OF
        if release in _RELEASES_OF[mode]
        for unstable in (False, True)
    }
    for key, modes, history in _entries():
        text = "-"
        for release in RELEASES:
            text = history.get(release, text)
            stable, _, unstable = text.partition("/")
            for mode in modes:
                if release in _RELEASES_OF[mode]:
                    lists[release, mode, False][key] = _offers(stable)
                    lists[release, mode, True][key] = _offers(unstable or stable)
    return tuple(
        ApiList(release=release, mode=mode, unstable=unstable, offers=offers)
        for (release, mode, unstable), offers in lists.items()
    )


def release_needed(api_key: int, wanted: Versions) -> str | None:
    """The first release from which on brokers offer one of the wanted versions or a later one, in words for users.

    `Kafka 3.0 or newer`, or `Kafka 2.8 or newer with KRaft` where brokers on ZooKeeper never do; None if none does yet.
    """
    first_releases = {mode: release for mode in _RELEASES_OF if (release := _first(api_key, wanted.lowest, mode))}
    if not first_releases:
        return None
    first = min(first_releases.values(), key=RELEASES.index)
    return f"Kafka {first} or newer" + ("" if _ZOOKEEPER in first_releases else " with KRaft")


def _first(api_key: int, version: int, mode: str) -> str | None:
    """The release since which all releases of a mode offer this version of an API, or a later one."""
    newest_first = (listed for listed in reversed(api_lists()) if listed.mode == mode and not listed.unstable)
    offering = [
        listed.release for listed in takewhile(lambda listed: _reaches(listed.usual(api_key), version), newest_first)
    ]
    return offering[-1] if offering else None


def _reaches(offered: Versions | None, version: int) -> bool:
    return offered is not None and offered.highest >= version


def _entries() -> Sequence[tuple[int, Sequence[str], Mapping[str, str]]]:
    """Key, modes and history (release -> what is offered from it on) of each entry of the table."""
    entries: list[tuple[int, Sequence[str], dict[str, str]]] = []
    words = iter(TABLE.split())
    for word in words:
        if word.isdecimal():
            next(words)  # the name, for people
            mode = next(words)
            entries.append((int(word), tuple(_RELEASES_OF) if mode == "both" else (mode,), {}))
        else:
            release, _, offered = word.partition(":")
            entries[-1][2][release] = offered
    return entries


@cache
def _offers(text: str) -> Offers:
    """The text after a release: `0-3`, or `-` for nothing, or several of these separated by commas."""
    return tuple(Versions(*map(int, one.split("-"))) if one != "-" else None for one in text.split(","))
