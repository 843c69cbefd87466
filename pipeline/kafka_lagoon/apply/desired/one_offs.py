"""Reads the one-time actions of a desired state: elections, reassignments, resets of offsets and so on."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from kafka_lagoon.apply.desired.fields import Fields, brokers_fault
from kafka_lagoon.apply.desired.state import (
    AbortTransaction,
    CancelReassignments,
    ChangeVoter,
    Chosen,
    DeleteGroup,
    DeleteRecords,
    ElectLeaders,
    EmptyBroker,
    MoveReplicas,
    OneOff,
    Reassign,
    ResetOffsets,
)
from kafka_lagoon.apply.kinds.cluster import listener_of
from kafka_lagoon.apply.kinds.names import parse_partition
from kafka_lagoon.client.cluster import TopicPartition
from kafka_lagoon.fetch.offset_specs import OffsetSpec, parse_offset_specs

_PARTITION = re.compile(r"[a-zA-Z0-9._-]{1,249}-\d{1,9}", re.ASCII)
_SHIFT = re.compile(r"[-+]?\d{1,19}", re.ASCII)
_MOST_INT64 = 2**63 - 1


def read_one_offs(root: Fields, now_ms: int) -> list[OneOff]:
    """Every entry of `actions`; faults are collected by the fields."""
    actions = []
    for fields in root.tables("actions"):
        name = fields.choice("action", list(_READERS))
        action = _READERS[name](fields, now_ms) if name else None
        if action:
            actions.append(action)
    return actions


def partition_of(text: str) -> TopicPartition:
    """A partition by its name, such as `orders-0`; ValueError for anything else."""
    if not _PARTITION.fullmatch(text):
        raise ValueError(f"{text!r} is not a partition: write it as TOPIC-NUMBER")
    return parse_partition(text)


def _chosen(fields: Fields, *, needed: bool) -> Chosen | None:
    topics, names = fields.texts("topics"), fields.texts("partitions")
    if topics is None and names is None:
        if needed and "topics" not in fields and "partitions" not in fields:
            fields.fault("topics or partitions is missing")
        return None if needed else Chosen()
    partitions = [_partition(fields, name, index) for index, name in enumerate(names or ())]
    return Chosen(topics=topics or (), partitions=[partition for partition in partitions if partition])


def _partition(fields: Fields, name: str, index: int) -> TopicPartition | None:
    try:
        return partition_of(name)
    except ValueError as error:
        fields.fault(str(error), "partitions", index)
        return None


def _elect(fields: Fields, _: int) -> OneOff | None:
    fields.only("action", "topics", "partitions", "election")
    chosen = _chosen(fields, needed=False)
    election = fields.choice("election", ("preferred", "unclean"), "preferred")
    if election == "unclean" and chosen is not None and not chosen:
        fields.fault("an unclean election needs topics or partitions")
    return ElectLeaders(path=fields.path, chosen=chosen, election=election) if chosen is not None and election else None


def _reassign(fields: Fields, _: int) -> OneOff | None:
    fields.only("action", "assignments")
    given = fields.raw("assignments")
    if not isinstance(given, dict) or not given:
        fields.fault("assignments must be a table of partitions with their brokers")
        return None
    assignments: dict[TopicPartition, tuple[int, ...]] = {}
    for name, brokers in given.items():
        try:
            partition = partition_of(name)
        except ValueError as error:
            fields.fault(str(error), "assignments", name)
            continue
        if fault := brokers_fault(brokers):
            fields.fault(fault, "assignments", name)
        else:
            assignments[partition] = tuple(brokers)
    return Reassign(path=fields.path, assignments=assignments)


def _empty(fields: Fields, _: int) -> OneOff | None:
    fields.only("action", "broker", "topics")
    broker_id, topics = fields.number("broker", 0, needed=True), fields.texts("topics")
    return None if broker_id is None else EmptyBroker(path=fields.path, broker_id=broker_id, topics=topics or ())


def _cancel(fields: Fields, _: int) -> OneOff | None:
    fields.only("action", "topics", "partitions")
    chosen = _chosen(fields, needed=False)
    return None if chosen is None else CancelReassignments(path=fields.path, chosen=chosen)


def _move(fields: Fields, _: int) -> OneOff | None:
    fields.only("action", "topics", "partitions", "broker", "log_dir")
    chosen = _chosen(fields, needed=True)
    broker_id, log_dir = fields.number("broker", 0, needed=True), fields.text("log_dir", needed=True)
    if chosen is None or broker_id is None or log_dir is None:
        return None
    return MoveReplicas(path=fields.path, chosen=chosen, broker_id=broker_id, log_dir=log_dir)


def _voter(verb: str, fields: Fields, _: int) -> OneOff | None:
    with_listeners = verb != "remove"
    fields.only("action", "voter", "directory_id", *(["listeners"] if with_listeners else []))
    voter_id = fields.number("voter", 0, needed=True)
    directory_id = fields.text("directory_id", needed=True)
    listeners = _listeners(fields) if with_listeners else []
    if voter_id is None or directory_id is None:
        return None
    return ChangeVoter(path=fields.path, verb=verb, voter_id=voter_id, directory_id=directory_id, listeners=listeners)


def _listeners(fields: Fields) -> list[str]:
    texts = fields.texts("listeners") or []
    for index, text in enumerate(texts):
        try:
            listener_of(text)
        except ValueError:
            fields.fault("must be NAME://HOST:PORT", "listeners", index)
    if not texts:
        fields.fault('listeners is missing: ["CONTROLLER://HOST:PORT"]')
    return texts


def _delete_records(fields: Fields, now_ms: int) -> OneOff | None:
    fields.only("action", "topics", "partitions", "before")
    chosen = _chosen(fields, needed=True)
    fields.text("before", needed=True)
    before = fields.parsed("before", partial(_offset_spec, now_ms))
    return DeleteRecords(path=fields.path, chosen=chosen, before=before) if chosen and before else None


def _reset(fields: Fields, now_ms: int) -> OneOff | None:
    fields.only("action", "group", "topics", "partitions", "to", "shift")
    group_id, chosen = fields.text("group", needed=True), _chosen(fields, needed=True)
    to = fields.parsed("to", partial(_offset_spec, now_ms))
    shift = fields.parsed("shift", _shift)
    if ("to" in fields) == ("shift" in fields):
        fields.fault("needs either to or shift")
        return None
    if group_id is None or chosen is None or (to is None and shift is None):
        return None
    return ResetOffsets(path=fields.path, group_id=group_id, chosen=chosen, to=to, shift=shift)


def _offset_spec(now_ms: int, text: str) -> OffsetSpec:
    if "=" in text:
        raise ValueError("must be earliest, latest, latest-N, an offset or a time")
    spec = parse_offset_specs("offset", text, now_ms).default
    assert spec is not None  # noqa: S101  only lists of offsets have no default
    return spec


def _shift(text: str) -> int:
    if not _SHIFT.fullmatch(text) or int(text) == 0:
        raise ValueError("must be a number of offsets, negative for back")
    return int(text)


def _delete_group(fields: Fields, _: int) -> OneOff | None:
    fields.only("action", "group")
    group_id = fields.text("group", needed=True)
    return None if group_id is None else DeleteGroup(path=fields.path, group_id=group_id)


def _abort(fields: Fields, _: int) -> OneOff | None:
    fields.only("action", "partition", "start_offset")
    fields.text("partition", needed=True)
    partition = fields.parsed("partition", partition_of)
    start_offset = fields.number("start_offset", 0, _MOST_INT64, needed=True)
    if partition is None or start_offset is None:
        return None
    return AbortTransaction(path=fields.path, partition=partition, start_offset=start_offset)


_READERS: Mapping[str, Callable[[Fields, int], Any]] = {
    "elect_leaders": _elect,
    "reassign_partitions": _reassign,
    "empty_broker": _empty,
    "cancel_reassignments": _cancel,
    "move_replicas": _move,
    "add_voter": partial(_voter, "add"),
    "remove_voter": partial(_voter, "remove"),
    "delete_records": _delete_records,
    "reset_offsets": _reset,
    "delete_group": _delete_group,
    "abort_transaction": _abort,
}
ACTIONS = tuple(_READERS)  # as they are written in files
