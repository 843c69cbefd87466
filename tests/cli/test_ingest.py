"""Arguments of `lagoon ingest` that contradict each other."""

import pytest

from kafka_lagoon.cli.ingest import ingest_arguments
from kafka_lagoon.cli.main import options_of
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.fetch.read_spec import ReadSpec
from tests.clock import CLOCK

ENVIRON = {"LAGOON_WAREHOUSE": "w", "LAGOON_CREATE": "true", "LAGOON_KAFKA__BOOTSTRAP_SERVERS": "localhost:9"}


def spec_of(*argv: str) -> ReadSpec:
    return ingest_arguments(options_of("ingest", list(argv)), ENVIRON, CLOCK).spec


def problems(*argv: str) -> list[str]:
    with pytest.raises(ConfigError) as refused:
        spec_of(*argv)
    return list(refused.value.problems)


@pytest.mark.parametrize("start", ["2h ago", "1h ago"])
def test_a_start_that_is_not_before_the_end(start: str) -> None:
    """The start of a new topic is stored, so that swapped times would leave out records for ever."""
    line = "ingest.start: is not before --until"
    assert problems("--topics", "a", "--from", start, "--until", "2h ago") == [line]
    assert spec_of("--topics", "a", "--from", "3h ago", "--until", "2h ago").start.times()
