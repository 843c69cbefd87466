"""A JVM for each release, started with the first test that asks, kept for the rest."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack

import pytest

from tests.oracle.jars import KAFKAS
from tests.oracle.java_codec import JavaCodec, java_codec


@pytest.fixture(scope="session")
def codecs() -> Iterator[Sequence[JavaCodec]]:
    """The generated codecs of both releases: a generated value is shown to both, for generating it costs most."""
    with ExitStack() as running:
        yield [running.enter_context(java_codec(kafka)) for kafka in KAFKAS]
