"""Options with the connector's names, and messages about faulty ones."""

from typing import Any

import pytest

from kafka_lagoon.errors import ConfigError
from kafka_lagoon.fetch.offset_specs import EARLIEST, LATEST, AtOffset, AtTime, OffsetSpecs
from kafka_lagoon.source.options import SourceOptions, parse

BROKERS = {"kafka.bootstrap.servers": "localhost:9092"}
OFFSET = "a: not a partition with a number from -2 to 9223372036854775806"
TOPIC_ID = '#topic_ids: not ids of topics as in {"topicA":"WR1Vk3DJQAmDmPhJSP1WRQ"}'


def options(**given: Any) -> SourceOptions:
    """Parse options as Spark passes them: names in lower case, all values text."""
    named = {name.replace("kafka_", "kafka.").replace("_", ".").lower(): str(value) for name, value in given.items()}
    return parse({**BROKERS, **named})


def problems(**given: Any) -> list[str]:
    """Return the lines that refuse these options."""
    with pytest.raises(ConfigError) as refused:
        options(**given)
    return list(refused.value.problems)


def test_defaults_are_the_connectors():
    """Data loss fails, headers are left out, and reading ends at the latest offset; but only committed records are read."""
    parsed = options(subscribe="orders")
    assert (parsed.topics, parsed.pattern, parsed.assigned) == (("orders",), None, None)
    assert (parsed.start, parsed.end) == (None, OffsetSpecs(name="endingOffsets", default=LATEST))
    assert parsed.fail_on_data_loss
    assert not parsed.include_headers
    assert parsed.isolation_level == "read_committed"
    assert (parsed.min_partitions, parsed.max_records_per_partition, parsed.max_offsets_per_trigger) == (
        None,
        None,
        None,
    )


def test_no_password_is_shown():
    """The text form of options does not contain the properties of the connection, which may hold passwords."""
    line = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="hunter2";'
    parsed = options(subscribe="orders", kafka_sasl_jaas_config=line)
    assert "hunter2" in parsed.kafka["sasl.jaas.config"]
    assert "hunter2" not in repr(parsed)


def test_names_have_any_case():
    """Spark passes options in lower case; people write them in any case."""
    parsed = parse({"KAFKA.Bootstrap.Servers": "a:1", "SUBSCRIBE": "b , a", "FAILonDataLoss": "FALSE"})
    assert parsed.topics == ("a", "b")
    assert parsed.kafka == {"bootstrap.servers": "a:1"}
    assert not parsed.fail_on_data_loss


def test_offsets_of_partitions():
    """The JSON is the connector's; -2 and -1 mean the earliest and the latest offset."""
    parsed = options(
        assign='{"a":[0,1]}', startingOffsets='{"a":{"0":23,"1":-2}}', endingOffsets='{"a":{"0":50,"1":-1}}'
    )
    assert parsed.assigned == {("a", 0), ("a", 1)}
    assert parsed.topics == ("a",)
    assert parsed.start == OffsetSpecs(
        name="startingOffsets", by_partition={("a", 0): AtOffset(23), ("a", 1): EARLIEST}
    )
    assert parsed.end == OffsetSpecs(name="endingOffsets", by_partition={("a", 0): AtOffset(50), ("a", 1): LATEST})


def test_times_precede_offsets():
    """A time for all partitions precedes times per partition, and these precede offsets."""
    by_partition = '{"a":{"0":1700000000000}}'
    parsed = options(subscribe="a", startingOffsets="earliest", startingOffsetsByTimestamp=by_partition)
    assert parsed.start == OffsetSpecs(
        name="startingOffsetsByTimestamp", by_partition={("a", 0): AtTime(1_700_000_000_000)}
    )
    parsed = options(subscribe="a", endingTimestamp="1000", endingOffsetsByTimestamp=by_partition)
    assert parsed.end == OffsetSpecs(name="endingTimestamp", default=AtTime(1000))


def test_a_stream_s_offsets_are_starting_offsets():
    """Offsets from a checkpoint are accepted; topic ids in them are compared, and the start of a first batch is left out."""
    stored = '{"a":{"0":23},"#topic_ids":{"a":"WRt"},"#started_at":{"a":{"0":7}}}'
    parsed = options(subscribe="a", startingOffsets=stored)
    assert parsed.start == OffsetSpecs(
        name="startingOffsets", by_partition={("a", 0): AtOffset(23)}, topic_ids={"a": "WRt"}
    )


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"startingOffset": "latest"}, "startingoffset: no such option (did you mean startingOffsets?)"),
        (
            {"minOffsetsPerTrigger": "5"},
            "minOffsetsPerTrigger: a micro-batch waits for no number of records: set a longer processingTime of the trigger",
        ),
        ({"startingOffsets": "first"}, 'startingOffsets: not JSON like earliest, latest or {"topicA":{"0":23,"1":-2}}'),
        ({"startingOffsets": '{"a":[1]}'}, f"startingOffsets: {OFFSET}"),
        ({"startingOffsets": '{"a":{"0":-3}}'}, f"startingOffsets: {OFFSET}"),
        ({"startingOffsets": f'{{"a":{{"0":{(1 << 63) - 1}}}}}'}, f"startingOffsets: {OFFSET}"),
        ({"startingOffsets": f'{{"a":{{"{"9" * 5_000}":1}}}}'}, f"startingOffsets: {OFFSET}"),
        ({"startingOffsets": '{"a":{"0":1,"00":5}}'}, f"startingOffsets: {OFFSET}"),
        ({"startingOffsets": '{"a":{"0":1,"0":5}}'}, "startingOffsets: 0 is named twice"),
        ({"startingOffsets": '{"a":{"0":1},"a":{"0":1}}'}, "startingOffsets: a is named twice"),
        ({"startingOffsets": '{"a":{"0":1},"#topic_ids":["x"]}'}, f"startingOffsets: {TOPIC_ID}"),
        ({"startingOffsets": '{"a":{"0":1},"#topic_ids":5}'}, f"startingOffsets: {TOPIC_ID}"),
        ({"startingOffsets": '{"a":{"0":1},"#topic_ids":{"a":1}}'}, f"startingOffsets: {TOPIC_ID}"),
        (
            {"startingOffsetsByTimestamp": f'{{"a":{{"0":{10**23}}}}}'},
            "startingOffsetsByTimestamp: a: not a partition with a number from 0 to 9223372036854775806",
        ),
        (
            {"startingTimestamp": "2026-11-21"},
            "startingTimestamp: '2026-11-21' is not a time in milliseconds since 1970",
        ),
        ({"minPartitions": "0"}, "minPartitions: '0' is not a whole number above 0"),
        (
            {"maxRecordsPerPartition": " 9223372036854775808"},
            "maxRecordsPerPartition: 9223372036854775808 is more than 9223372036854775807",
        ),
        ({"failOnDataLoss": "no"}, "failOnDataLoss: 'no' is neither true nor false"),
        (
            {"kafka_isolation_level": "all"},
            "kafka.isolation.level: 'all' is neither read_committed nor read_uncommitted",
        ),
        (
            {"kafka_isolaton_level": "read_uncommitted"},
            "kafka.isolaton.level: no such property (did you mean isolation.level?)",
        ),
        ({"kafka_auto_offset_reset": "earliest"}, "kafka.auto.offset.reset: use startingOffsets"),
        ({"assign": "{}"}, "subscribe and assign: set one of subscribe, assign, subscribePattern"),
    ],
)
def test_a_bad_option_is_one_line(given: dict[str, str], line: str):
    """The line names the option and its valid values."""
    assert problems(subscribe="a", **given) == [line]


def test_all_faults_at_once():
    """All faults are listed together."""
    with pytest.raises(ConfigError) as refused:
        parse({"topic": "a", "minPartitions": "many"})
    lines = refused.value.problems
    assert lines[0].startswith("topic: no such option; there are subscribe, assign,")
    assert lines[1] == "kafka.bootstrap.servers: must be set, to host:port of some brokers"
    assert lines[2] == "no topics: set one of subscribe, assign, subscribePattern"
    assert lines[3] == "minPartitions: 'many' is not a whole number above 0"


@pytest.mark.parametrize(
    ("choice", "line"),
    [
        ({"subscribe": " , "}, "subscribe: no topics; write it as topicA,topicB"),
        ({"subscribePattern": "("}, "subscribePattern: '(' is not a regular expression"),
        ({"subscribePattern": "a{99999999999}"}, "subscribePattern: 'a{99999999999}' is not a regular expression"),
        ({"subscribePattern": "[a-z&&[^b]]+"}, "subscribePattern: '[a-z&&[^b]]+' has a set within a set"),
        ({"subscribePattern": "t-[[0-9]x]"}, "subscribePattern: 't-[[0-9]x]' has a set within a set"),
        ({"assign": "[" * 5_000}, "assign: not JSON like"),
        ({"assign": '{"a":["0"]}'}, 'assign: a: not partition numbers as in {"topicA":[0,1]}'),
    ],
)
def test_a_bad_choice_of_topics(choice: dict[str, str], line: str):
    """Wrong topics, patterns and partitions have different lines."""
    assert problems(**choice)[0].startswith(line)


def test_batches_and_streams_refuse_what_is_the_others():
    """A batch has no trigger and does not start at the latest offset; a stream has no end."""
    with pytest.raises(ConfigError, match="maxOffsetsPerTrigger: only streams have triggers"):
        options(subscribe="a", maxOffsetsPerTrigger="10").require_batch()
    with pytest.raises(ConfigError, match="startingOffsets: a batch cannot start at latest"):
        options(subscribe="a", startingOffsets="latest").require_batch()
    with pytest.raises(ConfigError, match="endingOffsets: a batch cannot end at earliest"):
        options(subscribe="a", endingOffsets='{"a":{"0":-2}}').require_batch()
    with pytest.raises(ConfigError, match="endingOffsets: a stream has no end"):
        options(subscribe="a", endingOffsets="latest").require_stream()
    assert options(subscribe="a", startingOffsets="latest", maxOffsetsPerTrigger="10").require_stream()


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (
            {"startingOffsets": '{"a":{"0":30,"1":20}}', "endingOffsets": '{"a":{"0":20,"1":20}}'},
            "startingOffsets: a:0: 30 is after 20 of endingOffsets",
        ),
        (
            {"startingTimestamp": "30", "endingOffsetsByTimestamp": '{"a":{"0":20,"1":30}}'},
            "startingTimestamp: a:0: 30 is after 20 of endingOffsetsByTimestamp",
        ),
        (
            {"startingTimestamp": "30", "endingTimestamp": "20"},
            "startingTimestamp: 30 is after 20 of endingTimestamp",
        ),
    ],
)
def test_a_batch_that_starts_after_its_end_is_refused(given: dict[str, str], line: str):
    """The connector refuses it, too, as long as the log has such offsets; a start at the end reads nothing."""
    with pytest.raises(ConfigError) as refused:
        options(subscribe="a", **given).require_batch()
    assert list(refused.value.problems) == [line]


def test_options_of_the_connectors_consumers_change_nothing():
    """A query that is ported keeps these options, which are about consumers; here they have no effect."""
    assert options(subscribe="a", groupIdPrefix="x", kafka_max_poll_records="5").topics == ("a",)
    assert parse({**BROKERS, "subscribe": "a", "kafkaConsumer.pollTimeoutMs": "9"}).topics == ("a",)
