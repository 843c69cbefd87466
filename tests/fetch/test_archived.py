"""Next offsets belong to a topic id: an id that returns continues at its offsets, also if its name was used by others."""

from hypothesis import given
from hypothesis import strategies as st

from kafka_lagoon.fetch.archived import Archived
from kafka_lagoon.fetch.offset_specs import LATEST
from kafka_lagoon.fetch.ranges import Position

AT_10, AT_20 = {0: Position(next_offset=10)}, {0: Position(next_offset=20)}


def test_an_id_that_returns_goes_on_where_it_was():
    """It has its next offsets again, after a deletion and after another topic with the name."""
    first = Archived(topic_id="a", partitions=AT_10, unstarted={1: LATEST})
    assert first.deleted().re_created("a") == first
    second = first.re_created("b")
    assert second == Archived(topic_id="b", partitions={}, former={"a": AT_10})
    again = Archived(topic_id="b", partitions=AT_20, former=second.former).re_created("a")
    assert (again.partitions, again.former) == (AT_10, {"b": AT_20})


def test_a_topic_without_an_id_that_returns_is_another_one():
    """Without ids a topic that returns counts as new, after all brokers have reported its deletion."""
    assert Archived(topic_id=None, partitions=AT_10).deleted().re_created(None).partitions == {}


def test_starts_of_a_topic_without_an_id():
    """They are kept until one of its partitions answers, also when it gets an id; after a deletion it counts as new."""
    silent = Archived(topic_id=None, partitions={}, unstarted={0: LATEST})
    assert silent.re_created(None) == silent
    assert silent.re_created("a").unstarted == {0: LATEST}
    assert silent.deleted().re_created("a").unstarted == {}


@given(st.lists(st.sampled_from(["delete", "a", "b", "c"]), max_size=12))
def test_no_position_of_an_id_is_ever_lost(changes: list[str]):
    """Each id keeps its next offset, in any order of appearing and disappearing ids."""
    topic = Archived(topic_id="a", partitions=AT_10)
    reached = {"a": AT_10}
    for change in changes:
        topic = topic.deleted() if change == "delete" else topic.re_created(change)
        if change != "delete" and not topic.partitions:
            position = {0: Position(next_offset=100 + len(reached))}
            assert change not in reached
            reached[change] = position
            topic = Archived(topic_id=change, partitions=position, former=topic.former)
        current = {topic.topic_id: topic.partitions} if topic.partitions else {}
        assert {**topic.former, **current} == reached
