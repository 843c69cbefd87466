"""Effort of commands that are given many names, in clusters with many: it grows with their sum, and not with their product."""

from argparse import Namespace
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from kafka_lagoon.admin.acls import Acl
from kafka_lagoon.admin.config_values import ConfigValue
from kafka_lagoon.admin.group_offsets import GroupPartition
from kafka_lagoon.cli.admin import acls, brokers, configs, groups, partitions
from kafka_lagoon.cli.admin.selection import Partitions, Selected, merged
from kafka_lagoon.cli.kafka import describe_group, fetch, lag_selection, log_dirs, transactions
from kafka_lagoon.cli.sql_formats import refuse_equal_names
from kafka_lagoon.topic_partition import TopicPartition
from tests.comparisons import Comparisons

Patch = pytest.MonkeyPatch
Case = Callable[[Comparisons, int, Patch], Any]


def returning(value: Any) -> Callable[..., Any]:
    return lambda *_arguments, **_named: value


def context(**options: Any) -> Any:
    return SimpleNamespace(cluster=None, deadline=None, options=Namespace(**options))


def metadata(of: Comparisons, count: int, name: str = "orders") -> Any:
    """Describe a topic of so many partitions."""
    numbers = [SimpleNamespace(partition_index=of.counting(number)) for number in range(count)]
    topic = SimpleNamespace(name=name, topic_id=bytes(16), error_code=0, partitions=numbers)
    return SimpleNamespace(topics=[topic])


def names(of: Comparisons, count: int) -> list[Any]:
    return [of.counting(f"name-{number}") for number in range(count)]


def fetched_partitions(of: Comparisons, count: int, patch: Patch) -> Any:
    """Choose all partitions of a topic to fetch."""
    patch.setattr(fetch, "agreed_metadata", returning(metadata(of, count)))
    return fetch._topic(context(selection="orders"))[1]


def reset_partitions(of: Comparisons, count: int, patch: Patch) -> Any:
    """Find the partitions of a file of offsets."""
    patch.setattr(groups, "agreed_metadata", returning(metadata(of, count)))
    return groups._partitions(context(), {"orders": list(range(count))})[0]


def deleted_offsets(of: Comparisons, count: int, patch: Patch) -> Any:
    """Select the stored offsets of named partitions."""
    stored = {GroupPartition("g", "orders", of.counting(number)): "state" for number in range(count)}
    patch.setattr(groups, "list_groups", returning(None))
    patch.setattr(groups, "group_state", returning("state"))
    patch.setattr(groups, "_read", returning(SimpleNamespace(states=stored, failures={})))
    patch.setattr(groups, "_partitions", returning(([], [])))
    patch.setattr(groups, "_is_share", returning(False))
    patch.setattr(groups, "delete_offsets_action", returning("action"))
    wanted = context(group="g", topic=[f"orders:{','.join(map(str, range(count)))}"], all_topics=False)
    return groups._plan_deletion(wanted).actions


def moved_replicas(of: Comparisons, count: int, patch: Patch) -> Any:
    """Find the replicas of partitions that are named one by one, and are not on the broker."""
    absent = SimpleNamespace(replica_nodes=())
    described = {TopicPartition(of.counting("orders"), number): absent for number in range(count)}
    requested: list[Any] = []
    nowhere = SimpleNamespace(answers={}, failures={})
    patch.setattr(partitions, "find", returning(Partitions(described)))  # type: ignore[arg-type]
    patch.setattr(
        partitions, "replica_places", lambda _cluster, replicas, _deadline: requested.extend(replicas) or nowhere
    )
    wanted = [Selected(of.counting("orders"), frozenset({number})) for number in range(count)]
    partitions._plan_move(context(partitions=wanted, broker=7, to="/data"))
    return requested


def reassigned_partitions(of: Comparisons, count: int, _patch: Patch) -> Any:
    """Check that no partition is moved twice."""
    moves = [(TopicPartition(of.counting("orders"), number), [1]) for number in range(count)]
    assert partitions._check_reassignment(Namespace(moves=moves, file=None)) == []
    return moves


def updated_features(of: Comparisons, count: int, _patch: Patch) -> Any:
    """Check that no feature is named twice."""
    features = [(name, 1) for name in names(of, count)]
    assert brokers._check_feature(Namespace(features=features)) == []
    return features


def created_acls(of: Comparisons, count: int, patch: Patch) -> Any:
    """Leave out the ACLs that there are already."""
    live = [Acl(2, of.counting(f"there-{number}"), 3, "User:a", "*", 3, 3) for number in range(count)]
    wanted = [Acl(2, of.counting(f"new-{number}"), 3, "User:a", "*", 3, 3) for number in range(count)]
    patch.setattr(acls, "_live", returning(live))
    patch.setattr(acls, "_wanted", returning(wanted))
    patch.setattr(acls, "create_acl", returning("action"))
    return acls._plan_creation(context()).actions


def appended_values(of: Comparisons, count: int, patch: Patch) -> Any:
    """Add values to a list, such as that of throttled replicas."""
    patch.setattr(
        configs, "_split", lambda text: names(of, count) if text == "new" else [f"{n}:1" for n in range(count)]
    )
    (text,) = configs._changes(
        {"a": value("known")}, Namespace(config=[], unset=[], append=[("a", "new")], subtract=[])
    ).values()
    return (text or "").split(",")[count:]


def subtracted_values(of: Comparisons, count: int, patch: Patch) -> Any:
    """Remove values from a list; the text of the option is split once."""
    splits = []

    def split(text: str) -> list[str]:
        splits.append(text)
        return names(of, count) if text == "old" else [f"{n}:1" for n in range(count)]

    patch.setattr(configs, "_split", split)
    configs._changes({"a": value("known")}, Namespace(config=[], unset=[], append=[], subtract=[("a", "old")]))
    assert len(splits) == 2
    return range(count)


def value(text: str) -> ConfigValue:
    return ConfigValue(own=text, inherited=None, is_sensitive=False, is_read_only=False, config_type=7)


def lag_of_topics(of: Comparisons, count: int, _patch: Patch) -> Any:
    """Select the lag of named topics; the names are made into a set once."""
    listed = CountedList(names(of, count))
    rows = [SimpleNamespace(topic=topic) for topic in names(of, count)]
    kept = lag_selection.of_topics(rows, Namespace(topic=listed))
    assert listed.iterations == 1
    return kept


def lag_of_groups(of: Comparisons, count: int, _patch: Patch) -> Any:
    """Select named groups."""
    wanted = lag_selection.selected_groups(Namespace(group=names(of, count), pattern=None))
    assert wanted is not None
    return [name for name in names(of, count) if name in wanted]


def described_groups(of: Comparisons, count: int, patch: Patch) -> Any:
    """Describe named groups."""
    listings = SimpleNamespace(groups=dict.fromkeys(names(of, count)), failures=[])
    described = list[str]()
    patch.setattr(describe_group, "list_groups", returning(listings))
    patch.setattr(describe_group, "describe_groups", lambda _cluster, chosen, _deadline: described.extend(chosen))
    patch.setattr(describe_group, "_rows", returning(SimpleNamespace(groups=[], members=[], failures=[])))
    describe_group._answer(context(group=names(of, count)))
    return described


def listed_transactions(of: Comparisons, count: int, patch: Patch) -> Any:
    """Select named transactions."""
    rows = [SimpleNamespace(transactional_id=name, state="Ongoing") for name in names(of, count)]
    selected = list[Any]()
    patch.setattr(transactions, "list_transactions", returning(SimpleNamespace(answers={1: None}, failures={})))
    patch.setattr(transactions, "listed_transaction_rows", returning(rows))
    patch.setattr(transactions, "_described", lambda _context, chosen: (selected.extend(chosen), []))
    patch.setattr(transactions, "list_notes", returning([]))
    options = context(id=names(of, count), state=["ongoing"], describe=False, longer_than_ms=None, topic=None)
    transactions._transactions(options)
    return selected


def replicas_of_topics(of: Comparisons, count: int, patch: Patch) -> Any:
    """Select the replicas of named topics."""
    rows = [SimpleNamespace(topic=topic) for topic in names(of, count)]
    patch.setattr(log_dirs, "describe_log_dirs", returning(SimpleNamespace(answers={}, failures=[1])))
    patch.setattr(log_dirs, "replica_rows", returning(rows))
    output = log_dirs._answer(context(broker=[1], replicas=True, topic=names(of, count)))
    return list(output.rows[1].rows)  # type: ignore[attr-defined]


class CountedList(list[Any]):
    """A list that counts how often it is iterated."""

    iterations = 0

    def __iter__(self) -> Any:
        self.iterations += 1
        return super().__iter__()


CASES: list[Case] = [
    fetched_partitions,
    reset_partitions,
    deleted_offsets,
    moved_replicas,
    reassigned_partitions,
    updated_features,
    created_acls,
    appended_values,
    subtracted_values,
    lag_of_topics,
    lag_of_groups,
    described_groups,
    listed_transactions,
    replicas_of_topics,
]


@pytest.mark.parametrize("case", CASES)
def test_names_are_looked_up(case: Case, monkeypatch: Patch) -> None:
    """Four times as many names cost some four times as many comparisons, where a list for each name costs sixteen times."""
    counts = []
    for count in (50, 200):
        of = Comparisons()
        assert len(case(of, count, monkeypatch)) == count
        counts.append(of.count)
    assert counts[1] <= 8 * max(counts[0], 50)


def test_partitions_that_are_named_one_by_one_are_collected_once() -> None:
    """A set for each argument, of all before it, would cost as many copies as there are pairs of arguments."""
    copied = 0

    class Numbers(frozenset[int]):
        def __ror__(self, other: Any) -> Any:
            nonlocal copied
            copied += len(other)
            return frozenset([*other, *self])

    wanted = [Selected("orders", Numbers({number})) for number in range(200)]
    assert merged([*wanted, Selected("other", None), Selected("other", Numbers({1}))]) == {
        "orders": frozenset(range(200)),
        "other": None,
    }
    assert copied <= 400


def test_a_value_that_is_appended_twice_is_added_once() -> None:
    """Brokers add each value once, and the plan shows the resulting list."""
    edits = Namespace(config=[], unset=[], append=[("a", "x,known,x")], subtract=[])
    assert configs._changes({"a": value("known")}, edits) == {"a": "known,x"}


def test_columns_of_a_statement_are_counted_once() -> None:
    """A pivoted table has thousands of columns."""
    lookups = 0

    class Names(list[str]):
        def count(self, name: Any, /) -> int:
            nonlocal lookups
            lookups += len(self)
            return super().count(name)

    schema: Any = SimpleNamespace(names=Names(f"c{number}" for number in range(300)))
    refuse_equal_names(schema)
    assert lookups == 0
    with pytest.raises(Exception, match="two columns are called b"):
        refuse_equal_names(pa.schema([("a", pa.int8()), ("b", pa.int8()), ("b", pa.int8())]))
