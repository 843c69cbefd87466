"""The test data in `kafka_api_lists.txt`: which versions of each API brokers list, by release and mode."""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

Listed = Mapping[int, tuple[int, int]]


@cache
def recorded() -> dict[tuple[str, str], Listed]:
    """API key -> lowest and highest version, by release (2.4.1) and mode (zookeeper, kraft, kraft+unstable, ...)."""
    return {(release, mode): dict(_ranges(words)) for release, mode, *words in _lines()}


def _lines() -> Iterator[list[str]]:
    for line in Path(__file__).with_name("kafka_api_lists.txt").read_text().splitlines():
        if not line.startswith("#"):
            yield line.split()


def _ranges(words: list[str]) -> Iterator[tuple[int, tuple[int, int]]]:
    for word in words:
        key, versions = word.split(":")
        lowest, highest = versions.split("-")
        yield int(key), (int(lowest), int(highest))


def minor(release: str) -> str:
    """Return 2.4 for 2.4.1, 0.11 for 0.11.0.3."""
    return ".".join(release.split(".")[:2])
