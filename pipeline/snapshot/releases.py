"""What brokers say they speak in, the Kafka releases that they may be out.

Guards one rule: brokers do not tell their release, so this is a range for people, and nothing in the pipeline branches on it.
"""

from collections.abc import Iterable, Mapping

from pipeline.protocol.messages.api_versions import ApiVersionsResponse
from pipeline.protocol.messages.list_offsets import LIST_OFFSETS

# KRaft: the highest metadata.version that a release supports.
_BY_METADATA_VERSION = (
    (1, "3.0"),
    (7, "3.3"),
    (8, "3.4"),
    (11, "3.5"),
    (14, "3.6"),
    (19, "3.7"),
    (20, "3.8"),
    (21, "3.9"),
    (25, "4.0"),
    (27, "4.1"),
    (29, "4.2"),
    (30, "4.3"),
)
# ZooKeeper: the highest version of ListOffsets.
_BY_LIST_OFFSETS = ((1, "0.10.1"), (2, "0.11"), (4, "2.1"), (5, "2.2"), (6, "2.8"), (7, "3.0"), (8, "3.6"), (9, "3.9"))


def kafka_version_range(told: Iterable[ApiVersionsResponse]) -> str | None:
    """Oldest and newest release among the brokers, e.g. `3.9 - 4.3`; None when no broker was asked."""
    found = sorted({release(one) for one in told} - {None}, key=_as_numbers)
    if not found:
        return None
    return str(found[0]) if len(found) == 1 else f"{found[0]} - {found[-1]}"


def release(told: ApiVersionsResponse) -> str | None:
    """The release that a broker may be, e.g. `3.9`; None when it is older than all that we tell apart."""
    for feature in told.supported_features:
        if feature.name == "metadata.version":
            return _last_below(dict(_BY_METADATA_VERSION), feature.max_version)
    highest = {one.api_key: one.max_version for one in told.api_keys}
    return _last_below(dict(_BY_LIST_OFFSETS), highest.get(LIST_OFFSETS.key, -1))


def _last_below(releases: Mapping[int, str], level: int) -> str | None:
    """The release of the highest known level not above `level`; a plus says that the broker is newer than all we know."""
    known = [one for one in releases if one <= level]
    if not known:
        return None
    return releases[max(known)] + ("+" if level > max(releases) else "")


def _as_numbers(release: str | None) -> tuple[int, ...]:
    return tuple(int(part) for part in (release or "0").rstrip("+").split("."))
