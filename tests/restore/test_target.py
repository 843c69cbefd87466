"""Clashes in the target are faults, changes are faults unless they are accepted, and everything else is a note."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.clock import Deadline
from kafka_lagoon.fetch.log_bounds import ask_log_bounds
from kafka_lagoon.fetch.ranges import LogBounds
from kafka_lagoon.protocol.messages.describe_configs import (
    BROKER,
    DESCRIBE_CONFIGS,
    TOPIC,
    DescribeConfigsEntry,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from kafka_lagoon.protocol.messages.metadata import METADATA, MetadataResponse
from kafka_lagoon.restore import target
from kafka_lagoon.restore.archived import ArchivedTopic
from kafka_lagoon.restore.request import RestoreRequest
from kafka_lagoon.restore.survey import Times
from kafka_lagoon.restore.target import (
    TargetTopic,
    Verdict,
    default_configs,
    describe_target,
    is_about_times,
    removed_configs,
    verdict,
)
from kafka_lagoon.topic_partition import TopicPartition
from kafka_lagoon.wire.primitives import uuid_text
from tests.clock import CLOCK
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Altered, Fault
from tests.restore.lake import wanted

NOW_MS = 1_800_000_000_000
DAY_MS = 86_400_000
TIMES = Times(NOW_MS - 30 * DAY_MS, NOW_MS)


def judged(
    configs: dict[str, str] | None = None,
    *,
    ends: tuple[int, ...] = (0, 0),
    times: Times | None = TIMES,
    earlier: str | None = None,
    **more: Any,
) -> Verdict:
    """Return the verdict on a topic with two archived partitions, and this target."""
    request = RestoreRequest(from_cluster="old", to_cluster="new", topics=("t",), **more)
    source = ArchivedTopic(
        cluster_id="cluster",
        topic="t",
        topic_id="id",
        other_ids=["earlier"],
        partitions={0: wanted(0, 5), 1: wanted(0, 5, partition=1)},
        records={},
        codecs=frozenset(),
        missing=Counter(lost=3, corrupt=0),
    )
    logs = {
        number: LogBounds(log_start_offset=0, high_watermark=end, last_stable_offset=end, end=end)
        for number, end in enumerate(ends)
    }
    target = TargetTopic(name="t", topic_id="x", partitions=len(ends), logs=logs, configs=configs or {})
    of_target = {"t": earlier} if earlier else {}
    return verdict(request, [(source, target)], NOW_MS, {"t": times} if times else {}, of_target)


@pytest.mark.parametrize("node_id", [1, 2, 3])
def test_ids_that_one_broker_does_not_tell(state: FakeCluster, connect: Callable[[], Cluster], node_id: int) -> None:
    """A broker that gives no topic ids is outvoted: without an id a restore cannot tell that a topic was re-created."""

    def without_ids(response: MetadataResponse) -> MetadataResponse:
        return replace(response, topics=tuple(replace(topic, topic_id=bytes(16)) for topic in response.topics))

    state.faults.append(Fault(METADATA.key, Altered(without_ids), node_id, times=1_000))
    described, failures = describe_target(connect(), ["orders", "absent"], Deadline.after(CLOCK, 5_000))
    orders = described["orders"]
    assert orders is not None
    assert orders.topic_id == uuid_text(state.topics["orders"].topic_id)
    assert (described["absent"], failures) == (None, [])


def test_logs_of_many_topics_are_looked_up(
    state: FakeCluster, connect: Callable[[], Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each topic had its logs from a list of all partitions: 10,000 topics of ten partitions took minutes."""
    names, listed = [f"t{number}" for number in range(8)], list[object]()
    for name in names:
        state.add_topic(name, 2)

    class Logs(dict[TopicPartition, LogBounds]):
        """Logs that are counted where they are listed."""

        def __iter__(self) -> Iterator[TopicPartition]:
            listed.append(None)
            return super().__iter__()

    def ask(*given: Any) -> tuple[Logs, dict[TopicPartition, Failure]]:
        logs, failures = ask_log_bounds(*given)
        return Logs({partition: logs[partition] for partition in logs}), failures

    monkeypatch.setattr(target, "ask_log_bounds", ask)
    described, failures = describe_target(connect(), names, Deadline.after(CLOCK, 5_000))
    assert ([sorted(one.logs) if one else None for one in described.values()], failures) == ([[0, 1]] * 8, [])
    assert len(listed) <= 1


@pytest.mark.parametrize("code", [0, 31])
def test_defaults_of_new_topics(state: FakeCluster, connect: Callable[[], Cluster], code: int) -> None:
    """If the broker refuses them they are a failure, and not empty."""

    def answered(response: DescribeConfigsResponse) -> DescribeConfigsResponse:
        entry = DescribeConfigsEntry(name="log.cleanup.policy", value="compact", read_only=False, is_sensitive=False)
        result = DescribeConfigsResult(
            error_code=code, error_message=None, resource_type=BROKER, resource_name="1", configs=(entry,)
        )
        return replace(response, results=(result,))

    state.faults.append(Fault(DESCRIBE_CONFIGS.key, Altered(answered), times=1_000))
    defaults = default_configs(connect(), Deadline.after(CLOCK, 5_000))
    if isinstance(defaults, Failure):
        assert (code, defaults.name) == (31, "CLUSTER_AUTHORIZATION_FAILED")
    else:
        assert (code, defaults) == (0, {"cleanup.policy": "compact"})


def test_a_topic_that_deletes_nothing(state: FakeCluster, connect: Callable[[], Cluster]) -> None:
    """Brokers of Kafka 4.3 take an empty cleanup.policy, which keeps everything (KIP-1161): it is not an unknown policy."""
    state.configs[TOPIC, "orders"] = {"cleanup.policy": "", "retention.ms": "1"}
    state.configs[BROKER, "1"] = {"log.cleanup.policy": "", "log.retention.ms": "1"}
    described, failures = describe_target(connect(), ["orders"], Deadline.after(CLOCK, 5_000))
    orders = described["orders"]
    assert orders is not None
    assert (orders.configs["cleanup.policy"], failures) == ("", [])
    assert not is_about_times(orders, NOW_MS, TIMES)
    defaults = default_configs(connect(), Deadline.after(CLOCK, 5_000))
    assert defaults == {"cleanup.policy": "", "retention.ms": "1"}


@pytest.mark.parametrize(
    ("configs", "retention_ms"),
    [
        ({"log.retention.hours": "168"}, 7 * DAY_MS),
        ({"log.retention.hours": "168", "log.retention.minutes": "90"}, 90 * 60_000),
        ({"log.retention.hours": "168", "log.retention.minutes": "90", "log.retention.ms": "5"}, 5),
    ],
)
def test_retention_of_brokers(
    state: FakeCluster, connect: Callable[[], Cluster], configs: dict[str, str], retention_ms: int
) -> None:
    """Brokers without log.retention.ms delete by log.retention.minutes, or else by the hours, which are 168 by default.

    The minutes were not looked at: nobody learned that brokers with them delete what is restored to a new topic.
    """
    state.configs[BROKER, "1"] = configs
    defaults = default_configs(connect(), Deadline.after(CLOCK, 5_000))
    assert defaults == {"retention.ms": str(retention_ms)}


def test_topics_whose_configs_are_refused(state: FakeCluster, connect: Callable[[], Cluster]) -> None:
    """They are a failure, and no configs are known: nothing is taken for a default."""

    def refused(response: DescribeConfigsResponse) -> DescribeConfigsResponse:
        return replace(response, results=tuple(replace(one, error_code=29, configs=()) for one in response.results))

    state.faults.append(Fault(DESCRIBE_CONFIGS.key, Altered(refused), times=1_000))
    described, failures = describe_target(connect(), ["orders"], Deadline.after(CLOCK, 5_000))
    orders = described["orders"]
    assert orders is not None
    assert (orders.configs, [one.name for one in failures]) == ({}, ["TOPIC_AUTHORIZATION_FAILED"])


def test_configs_that_a_release_has_removed(state: FakeCluster, connect: Callable[[], Cluster]) -> None:
    """A broker that does not have its own value of a config refuses it for topics; one that does not answer may take all."""
    state.configs[BROKER, "1"] = {"log.message.format.version": "2.8-IV1", "log.retention.ms": "1"}
    removed = {"message.timestamp.difference.max.ms", "message.downconversion.enable"}
    assert set(removed_configs(connect(), Deadline.after(CLOCK, 5_000))) == removed
    state.faults.append(
        Fault(DESCRIBE_CONFIGS.key, Altered(lambda response: replace(response, results=())), times=1_000)
    )
    assert removed_configs(connect(), Deadline.after(CLOCK, 5_000)) == []


def test_defaults_without_a_broker(state: FakeCluster, connect: Callable[[], Cluster]) -> None:
    """If the addresses of all brokers are refused, the defaults are a failure."""

    def portless(response: MetadataResponse) -> MetadataResponse:
        return replace(response, brokers=tuple(replace(broker, port=0) for broker in response.brokers))

    state.faults.append(Fault(METADATA.key, Altered(portless), times=1_000))
    defaults = default_configs(connect(), Deadline.after(CLOCK, 5_000))
    assert isinstance(defaults, Failure)
    assert defaults.name == "NOT_RETURNED"


def test_nothing_stands_in_the_way() -> None:
    """Notes name what the archive lacks."""
    said = judged()
    assert said.faults == []
    assert said.notes == [
        "topic t was re-created: records under its other ids (earlier) are not restored (see --topic-id)",
        "topic t: the archive lacks offsets (3 lost), and so will t",
    ]


def test_clashes() -> None:
    """Too few partitions are always a fault, existing records are unless they are accepted."""
    said = judged(ends=(4,))
    assert [fault.partition(":")[0] for fault in said.faults] == [
        "topic t has 1 partitions, and partition 1 of t is to be restored",
        "topic t has records in 1 of 1 partitions",
    ]
    assert judged(ends=(0, 4), into_existing=True).faults == []


def test_records_of_a_restore_are_known() -> None:
    """For records of an earlier restore the fault does not suggest --into-existing, which would write them again."""
    (fault,) = judged(ends=(0, 4), earlier="0192").faults
    assert "restore 0192 wrote to it" in fault
    assert "--into-existing would write again what is there" in fault
    (fault,) = judged(ends=(0, 4)).faults
    assert "would be there twice" in fault


@pytest.mark.parametrize(
    ("configs", "words"),
    [
        ({"message.timestamp.type": "LogAppendTime", "retention.ms": "1"}, "LogAppendTime gives records the time"),
        ({"retention.ms": str(7 * DAY_MS)}, f"retention.ms={7 * DAY_MS} deletes segments"),
        ({"retention.ms": "0"}, "retention.ms=0 deletes segments"),
    ],
)
def test_changes_are_accepted_or_not(configs: dict[str, str], words: str) -> None:
    """A change is a fault that names the option, or a note."""
    (fault,) = judged(configs).faults
    assert words in fault
    assert "--accept-changes" in fault
    said = judged(configs, accept_changes=True)
    assert said.faults == []
    assert any(words in note for note in said.notes)


@pytest.mark.parametrize(
    "configs",
    [{"retention.ms": str(90 * DAY_MS)}, {"retention.ms": "-1"}, {"retention.ms": "1", "cleanup.policy": "compact"}],
)
def test_what_retention_keeps(configs: dict[str, str]) -> None:
    """These topics delete no restored record by age."""
    assert judged(configs).faults == []


def test_times_that_brokers_refuse() -> None:
    """No option accepts them: the config must be changed during the restore."""
    for name in ("message.timestamp.before.max.ms", "message.timestamp.difference.max.ms"):
        (fault,) = judged({name: str(DAY_MS)}, accept_changes=True).faults
        assert f"{name}={DAY_MS} refuses records like the one from 2026-12-16" in fault
    future = Times(NOW_MS, NOW_MS + DAY_MS)
    (fault,) = judged({"message.timestamp.after.max.ms": "3600000"}, times=future).faults
    assert "message.timestamp.after.max.ms=3600000 refuses" in fault
    assert judged({"message.timestamp.after.max.ms": "3600000"}, times=None).faults == []


def test_times_that_brokers_of_kafka_3_6_refuse() -> None:
    """They look at the limit for both directions only if the other is not set; the record that is refused is named."""
    both = {"message.timestamp.difference.max.ms": str(DAY_MS)}
    (fault,) = judged(both, times=Times(NOW_MS, NOW_MS + 2 * DAY_MS)).faults
    assert "difference.max.ms=86400000 refuses records like the one from 2027-01-17" in fault
    assert judged(both, times=Times(NOW_MS - DAY_MS, NOW_MS + DAY_MS)).faults == []
    assert judged({**both, "message.timestamp.before.max.ms": str(90 * DAY_MS)}).faults == []
    forever = {"message.timestamp.before.max.ms": str((1 << 63) - 1)}
    (fault,) = judged({**both, **forever}).faults
    assert "message.timestamp.difference.max.ms=86400000 refuses" in fault


def test_brokers_that_set_times_look_at_none() -> None:
    """With LogAppendTime no record is refused, or deleted soon, for the time that it comes with."""
    limits = {"message.timestamp.before.max.ms": str(DAY_MS), "retention.ms": str(DAY_MS)}
    at_append = {**limits, "message.timestamp.type": "LogAppendTime"}
    assert judged(at_append, accept_changes=True).faults == []
    topic = TargetTopic(name="t", topic_id="x", partitions=1, logs={})
    times = Times(NOW_MS - 2 * DAY_MS, NOW_MS)
    assert not is_about_times(replace(topic, configs=at_append), NOW_MS, times)
    assert not is_about_times(topic, NOW_MS, times)
    for name, value in limits.items():
        assert is_about_times(replace(topic, configs={name: value}), NOW_MS, times)


def test_what_may_be_gone_later() -> None:
    """Compaction and a limit of size may delete restored records."""
    notes = " ".join(judged({"cleanup.policy": "compact", "retention.bytes": "1000"}).notes)
    assert "topic t is compacted" in notes
    assert "retention.bytes=1000 may delete" in notes
