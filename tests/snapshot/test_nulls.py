"""Every null of a snapshot has a reason, for any responses of brokers."""

import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from kafka_lagoon import snapshot, tables
from kafka_lagoon.admin.offsets import ALL_KINDS, NOT_RETURNED
from kafka_lagoon.cli import kafka
from kafka_lagoon.protocol.messages.metadata import METADATA
from kafka_lagoon.snapshot.collect import collect
from kafka_lagoon.tables.cluster_rows import BrokerRow, PartitionOffsetsRow, PartitionRow
from kafka_lagoon.wire.schema import Api
from tests.fake.broker import FakeBroker
from tests.fake.direct import answered_directly
from tests.fake.oddities import ODDITIES, YEAR_10000_MS, every_shape, odd_offsets, refused_offsets
from tests.nulls import undeclared, unexplained_of
from tests.snapshot.test_collect import captured


@pytest.mark.long
@pytest.mark.parametrize("odd", ODDITIES)
def test_no_null_without_a_reason(odd: str) -> None:
    """A null has a reason in `problem`, or is a plain value by the declaration of its column."""
    state = every_shape()
    ODDITIES[odd](state)
    assert unexplained_of(captured(state)) == []


@pytest.mark.long
def test_what_happens_meanwhile_is_a_reason_too() -> None:
    """A broker that dies, and topics that are deleted or re-created during the snapshot, are reasons, too."""
    state = every_shape()

    def meanwhile(brokers: dict[int, FakeBroker], step: str) -> None:
        if step == "groups":
            del state.topics["other"]
            state.topics["orders"].topic_id = b"another topic id"
            brokers[3].die()

    assert unexplained_of(captured(state, meanwhile)) == []


def test_a_broker_that_leaves_meanwhile_is_a_reason() -> None:
    """It was described, and the metadata that was read after that does not have it, nor its rack."""
    state, steps = every_shape(), list[str]()

    def without_3(api: Api[Any, Any], answer: Any) -> Any:
        if api is METADATA and "topics again" in steps:
            answer.brokers = tuple(one for one in answer.brokers if one.node_id != 3)
        return answer

    with answered_directly(state, without_3) as (cluster, deadline):
        taken = collect(cluster, "test", 1_000, deadline, lambda step, _: steps.append(step))
    assert {row.broker_id: row.is_fenced for row in taken.of(BrokerRow)} == {1: False, 2: False, 3: None}
    assert None in {row.rack_count for row in taken.of(PartitionRow)}
    assert unexplained_of(taken) == []


def test_each_kind_of_offset_that_is_refused_is_named() -> None:
    """This holds even if null could be a plain value of the column."""
    state = every_shape()
    refused_offsets(state)
    problems = {(one.topic, one.partition): one.problem for one in captured(state).of(PartitionOffsetsRow)}
    assert [problems["orders", number] for number in range(len(ALL_KINDS))] == ["TOPIC_AUTHORIZATION_FAILED"] * 6
    assert problems["other", 0] is None


def test_odd_offsets() -> None:
    """A timestamp out of range is kept as a number, without a problem; -1 for an offset that every log has is a problem."""
    state = every_shape()
    odd_offsets(state)
    rows = {one.partition: one for one in captured(state).of(PartitionOffsetsRow) if one.topic == "orders"}
    assert (rows[0].max_timestamp_offset, rows[0].max_timestamp_ms, rows[0].problem) == (99, YEAR_10000_MS, None)
    assert (rows[2].high_watermark, rows[2].problem) == (None, NOT_RETURNED)


def test_what_null_means_is_declared() -> None:
    """A nullable column has a column `problem` beside it, or its declaration says when null is a plain value."""
    classes = list(row_classes())
    assert len(classes) > 30
    assert [line for cls in classes for line in undeclared(cls)] == []


def row_classes() -> Iterator[type[Any]]:
    """Return every class that declares columns: of tables, and of `lagoon kafka`."""
    for package in (snapshot, kafka, tables):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            yield from _declared(importlib.import_module(module.name))


def _declared(module: ModuleType) -> Iterator[type[Any]]:
    for value in vars(module).values():
        columns = getattr(value, "__dataclass_fields__", {}).values() if isinstance(value, type) else ()
        if any("null_if" in column.metadata for column in columns) and value.__module__ == module.__name__:
            yield value
