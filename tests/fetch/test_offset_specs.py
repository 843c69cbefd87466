"""Spellings of starting offsets: each is parsed to a spec, others are refused."""

from dataclasses import replace

import pytest

from kafka_lagoon.fetch.offset_specs import (
    EARLIEST,
    LATEST,
    AtOffset,
    AtTime,
    BeforeEnd,
    OffsetSpec,
    OffsetSpecs,
    order_problems,
    parse_offset_specs,
)
from kafka_lagoon.topic_partition import TopicPartition

NOW_MS = 1_795_300_000_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("earliest", EARLIEST),
        (" Latest ", LATEST),
        ("latest-1000", BeforeEnd(1_000)),
        ("latest - 5", BeforeEnd(5)),
        ("17", AtOffset(17)),
        ("2026-11-21T06:00:00Z", AtTime(1_795_240_800_000)),
        ("2026-11-21", AtTime(1_795_219_200_000)),
        ("00:00", AtTime(NOW_MS - NOW_MS % 86_400_000)),
        ("2h ago", AtTime(NOW_MS - 7_200_000)),
    ],
)
def test_one_spec_for_all_partitions(text: str, expected: OffsetSpec):
    """Every spelling that the documentation names is parsed."""
    assert parse_offset_specs("--from", text, NOW_MS) == OffsetSpecs(name="--from", default=expected)


def test_offsets_of_partitions():
    """Partitions that are not listed start at the earliest offset; a TopicPartition finds its spec."""
    specs = parse_offset_specs("ingest.start", "a.b-c_d:0=5,x:12=0", NOW_MS)
    assert specs.by_partition == {("a.b-c_d", 0): AtOffset(5), ("x", 12): AtOffset(0)}
    assert [specs.of(TopicPartition("x", number)) for number in (12, 13)] == [AtOffset(0), EARLIEST]


@pytest.mark.parametrize(
    "text",
    ["", "soon", "orders=5", "orders:x=5", "a:0=5,", "a:0=-1", "-5", "latest-", "latest+5", "earliest-5", "9" * 20],
)
def test_no_spec(text: str):
    """Any other text is refused, and the error quotes it."""
    with pytest.raises(ValueError, match="is not"):
        parse_offset_specs("--from", text, NOW_MS)


@pytest.mark.parametrize("form", ["{}", "latest-{}", "t:0=1,t:1={}"])
def test_the_greatest_offset(form: str):
    """An offset is an int64, and the end of a log, too, so that 2^63 - 1 is no offset."""
    assert parse_offset_specs("--from", form.format((1 << 63) - 2), NOW_MS)
    for offset in ((1 << 63) - 1, 1 << 63, 10**19 - 1):
        with pytest.raises(ValueError, match=f"^{offset} is not an offset"):
            parse_offset_specs("--from", form.format(offset), NOW_MS)


def test_times_of_specs():
    """All times are returned, so that times in the future can be refused."""
    specs = OffsetSpecs(name="x", default=AtTime(5), by_partition={("t", 0): AtTime(9), ("t", 1): AtOffset(7)})
    assert specs.times() == [5, 9]
    assert OffsetSpecs(name="x", default=LATEST).times() == []


@pytest.mark.parametrize("text", ["t:0=1,t:0=1", "t:0=1,u:0=1,t:00=5"])
def test_a_partition_that_is_named_twice(text: str):
    """Neither of its offsets is taken."""
    with pytest.raises(ValueError, match=r"^t:0 is named twice$"):
        parse_offset_specs("--from", text, NOW_MS)


def test_a_start_that_is_not_before_the_end():
    """Two times or two offsets are compared; `latest` depends on the log, and partitions of their own are not looked at."""
    for start, end, is_fault in [
        (AtTime(5), AtTime(4), True),
        (AtTime(5), AtTime(5), True),
        (AtTime(5), AtTime(6), False),
        (AtOffset(6), AtOffset(5), True),
        (AtOffset(6), AtTime(5), False),
        (LATEST, AtTime(5), False),
        (BeforeEnd(9), BeforeEnd(8), False),
    ]:
        problems = order_problems(OffsetSpecs(name="--from", default=start), OffsetSpecs(name="--until", default=end))
        assert problems == (["--from: is not before --until"] if is_fault else [])


def test_specs_that_do_not_fit_the_partitions():
    """Without a default every partition must be listed, and no other; offsets of a re-created topic are refused."""
    named = {("t", 0): EARLIEST, ("t", 7): EARLIEST}
    partitions, topic_ids = [TopicPartition("t", 0), TopicPartition("t", 1)], {"t": "new", "u": None}
    specs = OffsetSpecs(name="startingOffsets", by_partition=named, topic_ids={"t": "old"})
    assert specs.problems(partitions, topic_ids) == [
        "startingOffsets: no offset for t:1",
        "startingOffsets: t:7 is not among the partitions to read",
        "startingOffsets: topic t was re-created since",
    ]
    with_default = OffsetSpecs(name="--from", default=EARLIEST, by_partition=named)
    assert with_default.problems(partitions, topic_ids) == ["--from: t:7 is not among the partitions to read"]
    without_id = {"t": None}  # as a broker before Kafka 2.8 answers
    assert replace(with_default, topic_ids={"t": "old"}).problems(partitions, without_id) == [
        "--from: t:7 is not among the partitions to read"
    ]
    assert OffsetSpecs(name="--from", default=LATEST).problems(partitions, topic_ids) == []
