"""A JVM for each release, started with the first test that needs it, and kept for the rest."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack

import pytest

from tests.oracle.jars import KAFKAS
from tests.oracle.java_codec import JavaCodec, java_codec
from tests.oracle.memory_records import JavaRecords, java_records


@pytest.fixture(scope="session")
def codecs() -> Iterator[Sequence[JavaCodec]]:
    """The generated codecs of both releases; a drawn value is checked with both, because drawing takes most of the time."""
    with ExitStack() as running:
        yield [running.enter_context(java_codec(kafka)) for kafka in KAFKAS]


@pytest.fixture(scope="session")
def kafkas() -> Iterator[Sequence[JavaRecords]]:
    """MemoryRecords of both releases."""
    with ExitStack() as running:
        yield [running.enter_context(java_records(kafka)) for kafka in KAFKAS]
