"""The lag bounds under load: every sample agrees with the times that a producer and groups have recorded.

`python -m tests.proof.differential --only lag` takes ten thousand samples.
"""

import pytest
from confluent_kafka.admin import NewTopic

from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.integration.lag_under_load import (
    LoadTimes,
    OffsetTimes,
    Sample,
    complaints,
    connected,
    load,
    sample,
    sample_by_verb,
)
from tests.integration.state import create_topics

TIMES = LoadTimes(
    "t",
    {0: OffsetTimes(begun=[(10, 1), (20, 2), (30, 3)], confirmed=[(12, 1), (22, 2), (32, 3)])},
    {("g", 0): OffsetTimes(begun=[(15, 1), (40, 7)], confirmed=[(17, 1), (42, 7)])},
)
GOOD = Sample("g", 0, 1, 2, 0, None, began_ms=18, read_ms=(25, 26), over_ms=35)


def test_what_journals_allow() -> None:
    """Nothing is said about a sample that is true; the commit after the end makes lag negative."""
    assert list(complaints(GOOD, TIMES)) == []
    ahead = Sample("g", 0, 7, -4, -4, None, began_ms=43, read_ms=(44, 45), over_ms=46)
    assert list(complaints(ahead, TIMES)) == []


@pytest.mark.parametrize(
    ("false", "words"),
    [
        (GOOD._replace(lag=None), "not known"),
        (GOOD._replace(problem="NO_COMMIT"), "not known"),
        (GOOD._replace(lag=3), "lag 3 is not between 1 and 2"),
        (GOOD._replace(lag=0), "lag 0 is not between 1 and 2"),
        (GOOD._replace(lag_lower_bound=2), "lag_lower_bound 2 is not between 0 and 1"),
        (GOOD._replace(lag_lower_bound=-1), "lag_lower_bound -1 is not between"),
        (GOOD._replace(committed_offset=0, lag=3, lag_lower_bound=1), "committed_offset 0 is not between 1 and 1"),
        (GOOD._replace(lag=-1), "lag -1 is not between 1 and 2"),
    ],
)
def test_a_false_sample_is_found(false: Sample, words: str) -> None:
    """Each column that is false by one is found."""
    assert any(words in complaint for complaint in complaints(false, TIMES))


@pytest.mark.proof
@pytest.mark.kafka
@pytest.mark.timeout(600)
def test_the_true_lag_lies_between_the_bounds(kafka: LocalKafka) -> None:
    """In every sample, of snapshots and of the verb, while records are written and committed."""
    topic, groups = "lag-bounds", {"lag-bounds-behind": 3, "lag-bounds-ahead": -3}
    create_topics(kafka.bootstrap_servers, [NewTopic(topic, 2, 1)])
    with load(kafka, topic, 2, groups, topic) as times, connected(kafka) as cluster:
        samples = [one for _ in range(100) for one in sample(cluster, topic, groups)]
        samples += sample_by_verb(kafka, topic, groups)
    assert [complaint for one in samples for complaint in complaints(one, times)] == []
    assert len(samples) == 404
    assert any(one.lag != one.lag_lower_bound for one in samples), "nothing was produced while samples were taken"
