"""Tells which APIs the brokers of each Kafka release offer, and from which release on a version of an API can be asked for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import takewhile

from kafka_lagoon.protocol.release_apis import RELEASES, TABLE
from kafka_lagoon.wire.schema import Versions

_ZOOKEEPER, _KRAFT = "zk", "kraft"
_RELEASES_OF = {_ZOOKEEPER: RELEASES[: RELEASES.index("4.0")], _KRAFT: RELEASES[RELEASES.index("2.8") :]}

Offers = Sequence[Versions | None]  # what a broker may offer of an API, the usual first; None is nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiList:
    """What brokers of a release offer of each API, by key; an API that is not there is never offered.

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
    found: dict[tuple[str, str, bool], dict[int, Offers]] = {
        (release, mode, unstable): {}
        for release in RELEASES
        for mode in _RELEASES_OF
        if release in _RELEASES_OF[mode]
        for unstable in (False, True)
    }
    for key, modes, history in _entries():
        told = "-"
        for release in RELEASES:
            told = history.get(release, told)
            stable, _, unstable = told.partition("/")
            for mode in modes:
                if release in _RELEASES_OF[mode]:
                    found[release, mode, False][key] = _offers(stable)
                    found[release, mode, True][key] = _offers(unstable or stable)
    return tuple(
        ApiList(release=release, mode=mode, unstable=unstable, offers=offers)
        for (release, mode, unstable), offers in found.items()
    )


def release_needed(api_key: int, wanted: Versions) -> str | None:
    """The first release from which on brokers offer one of the wanted versions or a later one, in words for users.

    `Kafka 3.0 or newer`, or `Kafka 2.8 or newer with KRaft` where brokers on ZooKeeper never do; None if none does yet.
    """
    found = {mode: release for mode in _RELEASES_OF if (release := _first(api_key, wanted.lowest, mode))}
    if not found:
        return None
    first = min(found.values(), key=RELEASES.index)
    return f"Kafka {first} or newer" + ("" if _ZOOKEEPER in found else " with KRaft")


def _first(api_key: int, version: int, mode: str) -> str | None:
    """The release since which all releases of a mode offer this version of an API, or a later one."""
    newest_first = (one for one in reversed(api_lists()) if one.mode == mode and not one.unstable)
    offering = [one.release for one in takewhile(lambda one: _reaches(one.usual(api_key), version), newest_first)]
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
            release, _, told = word.partition(":")
            entries[-1][2][release] = told
    return entries


@cache
def _offers(text: str) -> Offers:
    """What stands after a release: `0-3`, or `-` for nothing, or several of them with commas between."""
    return tuple(Versions(*map(int, one.split("-"))) if one != "-" else None for one in text.split(","))
