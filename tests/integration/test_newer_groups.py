"""Share groups and streams groups on real brokers: what the verbs show of them, against Kafka's own tools."""

import re
from typing import Any

import pytest
from confluent_kafka.admin import NewTopic

from kafka_lagoon.sandbox.kafka import LocalKafka
from tests.integration.releases import NEWEST, Release, of_kind
from tests.integration.state import create_topics, produce, sharing
from tests.integration.streams_members import commit, streams_members

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]
TOPIC = "newer-groups"
SHARE_GROUPS = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"
STREAMS_GROUPS = "org.apache.kafka.tools.streams.StreamsGroupCommand"


@pytest.fixture(scope="module")
def release(kafka: LocalKafka) -> Release:
    """The newest release, with a topic of ours."""
    create_topics(kafka.bootstrap_servers, [NewTopic(TOPIC, 3, 1)])
    produce(kafka.bootstrap_servers, TOPIC)
    return Release(NEWEST, kafka)


def test_a_share_group(release: Release, capsys: pytest.CaptureFixture[str]) -> None:
    """Its member, what it shares, and how far it has come (KIP-932)."""
    group_id = "newer-sharing"
    with sharing(release.bootstrap_servers, group_id, TOPIC):
        (line,) = _lines(release, SHARE_GROUPS, group_id, "--members")
        described = release.shown(capsys, "describe-group", group_id)
        (group,), (member,) = of_kind(described, "group"), of_kind(described, "member")
        assert (group["group_type"], group["state"], group["members"]) == ("share", "Stable", 1)
        assert line[1:4] == [member["member_id"], member["client_host"], member["client_id"]]
        assert [(one["topic"], one["partitions"]) for one in member["assignment"]] == [(TOPIC, [0, 1, 2])]
        ours = of_kind(release.shown(capsys, "lag", group_id), "share")
        assert {(one["topic"], one["partition"], one["start_offset"], one["lag"]) for one in ours} == {
            (topic, int(partition), *(None if one == "-" else int(one) for one in (start, lag)))
            for _, topic, partition, start, lag in _lines(release, SHARE_GROUPS, group_id, "--offsets")
        }
        assert len(ours) == 3


def test_a_streams_group(release: Release, capsys: pytest.CaptureFixture[str]) -> None:
    """Its members, the partitions that their tasks read, its commits and its lag (KIP-1071)."""
    group_id = "newer-streaming"
    between = f"{group_id}-by-key-repartition"
    with streams_members(release.bootstrap_servers, group_id, TOPIC, ["one", "two"]) as members:
        for member in members:
            reads = next((task.partitions for task in member.tasks if task.subtopology_id == "0"), ())
            commit(member, TOPIC, {partition: 1 + partition for partition in reads if partition != 2})
        described = release.shown(capsys, "describe-group", group_id)
        (group,) = of_kind(described, "group")
        (line,) = _lines(release, STREAMS_GROUPS, group_id, "--state")
        assert (group["group_type"], group["group_id"]) == ("streams", group_id)
        assert line[2:] == [f"({group['coordinator_id']})", group["state"], str(group["members"])]
        assert (group["state"], group["members"]) == ("Stable", 2)
        topics = {"0": TOPIC, "1": between}  # read by each subtopology
        assert {
            (one["member_id"], one["client_id"], one["member_epoch"], topic, partition)
            for one in of_kind(described, "member")
            for topic, partition in _owned(one["assignment"])
        } == {
            (member_id, client_id, int(epoch), topics[subtopology], int(partition))
            for _, _, _, member_id, _, epoch, _, client_id, _, *tasks in _lines(
                release, STREAMS_GROUPS, group_id, "--members", "--verbose"
            )
            for subtopology, partitions in re.findall(r"(\d+):\[([\d,]+)\]", " ".join(tasks).split("TARGET")[0])
            for partition in partitions.split(",")
        }
        ours = of_kind(release.shown(capsys, "lag", group_id), "lag")
        assert len(ours) == 5
        lines = _lines(release, STREAMS_GROUPS, group_id, "--offsets", "--verbose")
        assert {(one["topic"], one["partition"], one["committed_offset"], one["high_watermark"]) for one in ours} == {
            (topic, int(partition), None if current == "-" else int(current), int(end))
            for _, topic, partition, current, _, end, _ in lines
        }
    release.printed(STREAMS_GROUPS, "--delete", "--group", group_id, "--delete-all-internal-topics")


def _owned(assignment: list[dict[str, Any]]) -> set[tuple[str, int]]:
    return {(one["topic"], partition) for one in assignment for partition in one["partitions"]}


def _lines(release: Release, tool: str, group_id: str, *what: str) -> list[list[str]]:
    """The words of each line that a tool prints of a group."""
    printed = release.printed(tool, "--describe", "--group", group_id, *what)
    return [line.split() for line in printed.splitlines() if line.startswith(group_id)]
