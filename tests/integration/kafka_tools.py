"""Kafka's own command-line tools as an oracle: their output, parsed into plain values."""

import re
from dataclasses import dataclass
from typing import Protocol

CONSUMER_GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
TOPICS = "org.apache.kafka.tools.TopicCommand"
GET_OFFSETS = "org.apache.kafka.tools.GetOffsetShell"
CONFIGS = "org.apache.kafka.tools.ConfigCommand"
API_VERSIONS = "org.apache.kafka.tools.BrokerApiVersionsCommand"
LOG_DIRS = "org.apache.kafka.tools.LogDirsCommand"
# Names in older releases: the first ones left the core before 4.0, the others before 3.9.
_UNTIL_3 = {API_VERSIONS: "kafka.admin.BrokerApiVersionsCommand", CONFIGS: "kafka.admin.ConfigCommand"}
_UNTIL_2 = {
    LOG_DIRS: "kafka.admin.LogDirsCommand",
    CONSUMER_GROUPS: "kafka.admin.ConsumerGroupCommand",
    TOPICS: "kafka.admin.TopicCommand",
    GET_OFFSETS: "kafka.tools.GetOffsetShell",
}

_STATE = re.compile(r"^(\S+)\s+\S+\s+\((\d+)\)\s*(\S*)\s+(\S+)\s+(\d+)\s*$")
_PARTITION = re.compile(r"(\w+): ?([^\t]*)")


def in_release(main_class: str, version: str) -> str:
    """Return the name of a tool in a release, by its name in the newest one."""
    older = {"3": _UNTIL_3, "2": _UNTIL_3 | _UNTIL_2}.get(version[0], {})
    return older.get(main_class, main_class)


class Tools(Protocol):
    """A cluster that can run Kafka's main classes against itself."""

    @property
    def bootstrap_servers(self) -> str:
        """Return host:port of the brokers."""

    def tool(self, main_class: str, *args: str) -> str:
        """Return the tool's standard output."""


@dataclass(frozen=True, slots=True, order=True)
class GroupOffset:
    """A line of `kafka-consumer-groups --describe --offsets`; a dash is None."""

    group_id: str
    topic: str
    partition: int
    committed_offset: int | None
    log_end_offset: int | None
    lag: int | None
    member_id: str | None
    client_host: str | None
    client_id: str | None


@dataclass(frozen=True, slots=True)
class TopicLine:
    """A partition's line of `kafka-topics --describe`."""

    leader_id: int | None
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    eligible: tuple[int, ...] | None


def group_offsets(kafka: Tools) -> set[GroupOffset]:
    """Return every line of every group."""
    printed = _describe(kafka, "--offsets")
    lines = [line.split() for line in printed.splitlines()]
    return {_group_offset(parts) for parts in lines if len(parts) == 9 and parts[0] != "GROUP"}


def _group_offset(parts: list[str]) -> GroupOffset:
    group_id, topic, partition, committed, end, lag, member_id, host, client_id = parts
    numbers = [None if one == "-" else int(one) for one in (committed, end, lag)]
    texts = [None if one == "-" else one for one in (member_id, host, client_id)]
    return GroupOffset(group_id, topic, int(partition), *numbers, *texts)


def group_states(kafka: Tools) -> dict[str, tuple[int, str, str, int]]:
    """Return coordinator, assignor, state and number of members of every group."""
    states = {}
    for line in _describe(kafka, "--state").splitlines():
        match = _STATE.match(line)
        if match:
            states[match[1]] = (int(match[2]), match[3].strip("-"), match[4], int(match[5]))
    return states


def group_members(kafka: Tools) -> set[tuple[str, str, str, str, int]]:
    """Return group, member, host, client and number of partitions of every member."""
    lines = [line.split() for line in _describe(kafka, "--members").splitlines()]
    rows = [parts for parts in lines if len(parts) == 5 and parts[0] != "GROUP"]
    return {(group_id, member, host, client, int(count)) for group_id, member, host, client, count in rows}


def _describe(kafka: Tools, what: str) -> str:
    return kafka.tool(
        CONSUMER_GROUPS, "--bootstrap-server", kafka.bootstrap_servers, "--describe", "--all-groups", what
    )


def topics(kafka: Tools, *only: str) -> dict[tuple[str, int], TopicLine]:
    """Return the partitions that `kafka-topics --describe` prints with these further options."""
    printed = kafka.tool(TOPICS, "--bootstrap-server", kafka.bootstrap_servers, "--describe", *only)
    partitions = {}
    for line in printed.splitlines():
        values = dict(_PARTITION.findall(line))
        if "Partition" in values:
            partitions[values["Topic"].strip(), int(values["Partition"])] = _topic_line(values)
    return partitions


def topic_ids(kafka: Tools) -> dict[str, str]:
    """Return the id of every topic."""
    printed = kafka.tool(TOPICS, "--bootstrap-server", kafka.bootstrap_servers, "--describe")
    return dict(re.findall(r"^Topic: (\S+)\s+TopicId: (\S+)", printed, re.MULTILINE))


def _topic_line(values: dict[str, str]) -> TopicLine:
    leader = values["Leader"].strip()
    eligible = values.get("Elr", "N/A").strip()
    return TopicLine(
        leader_id=None if leader == "none" else int(leader),
        replicas=_numbers(values["Replicas"]),
        isr=_numbers(values["Isr"]),
        eligible=None if eligible == "N/A" else _numbers(eligible),
    )


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.strip().split(",") if part)


def offsets(kafka: Tools, time: str) -> dict[tuple[str, int], int | None]:
    """Return the output of `kafka-get-offsets --time` for every partition; an empty offset is None."""
    printed = kafka.tool(GET_OFFSETS, "--bootstrap-server", kafka.bootstrap_servers, "--time", time)
    printed_offsets = {}
    for line in printed.splitlines():
        topic, partition, offset = line.rsplit(":", 2)
        printed_offsets[topic, int(partition)] = int(offset) if offset else None
    return printed_offsets
