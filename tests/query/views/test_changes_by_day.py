"""View topology_changes finds the changes of each pair of snapshots, although it looks at whole days.

A random cluster is written as a worked example, and its changes are computed by comparing each snapshot with the one before it.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pytest

from tests.effort import first
from tests.query.views.engines import by_duckdb
from tests.query.views.worked_examples import read_examples, tables_of

SNAPSHOTS = 60
HOURS_APART = 4
UNKNOWN = "-"
ALIKE = {  # tables whose rows are the same in each snapshot
    "coverage | api | requests | visibility": [
        f"{api} | 1 | complete" for api in ("Metadata", "ListGroups", "OffsetFetch")
    ],
    "topics | topic | topic_id | partitions": ["a | A | 4"],
    "consumer_groups | group_id | group_type | state": ["g | classic | Stable"],
    "group_members | group_id | member_id | client_id": ["g | m | c", "g | n | c"],
}
DRAWN = (
    "brokers | broker_id | host | port | rack",
    "partitions | topic | partition | leader_id | replicas | isr",
    "partition_offsets | topic | partition | log_start_offset | high_watermark",
    "consumer_lag | group_id | topic | partition | member_id",
    "committed_offsets | group_id | topic | partition | committed_offset",
)
Change = tuple[str, str, str, str, str]  # number of the snapshot, entity, attribute, old value, new value


@dataclass(slots=True)
class Seen:
    """The state of one snapshot: values by entity, `-` where there is none."""

    rack: dict[str, str] = field(default_factory=dict)
    leader_id: dict[str, str] = field(default_factory=dict)
    high_watermark: dict[str, str] = field(default_factory=dict)
    owner: dict[str, str] = field(default_factory=dict)
    committed_offset: dict[str, str] = field(default_factory=dict)


def drawn(random_numbers: random.Random) -> list[Seen]:
    """Return snapshots in which most values stay, some come back, and offsets sometimes go back or are missing."""
    partitions = [f"a-{number}" for number in range(4)]
    seen, ends = list[Seen](), dict.fromkeys([*partitions, *(f"g {name}" for name in partitions)], 50)
    for _ in range(SNAPSHOTS):
        last = seen[-1] if seen else Seen()
        now = Seen()
        for broker in ("1", "2"):
            now.rack[broker] = _kept(random_numbers, last.rack.get(broker), ("x", "y", UNKNOWN))
        for name in partitions:
            now.leader_id[name] = _kept(random_numbers, last.leader_id.get(name), ("1", "2", UNKNOWN))
            now.high_watermark[name] = _moved(random_numbers, ends, name)
            now.owner[f"g {name}"] = _kept(random_numbers, last.owner.get(f"g {name}"), ("m", "n", UNKNOWN))
            now.committed_offset[f"g {name}"] = _moved(random_numbers, ends, f"g {name}")
        seen.append(now)
    return seen


def _kept(random_numbers: random.Random, last: str | None, values: Sequence[str]) -> str:
    return last if last is not None and random_numbers.random() > 0.15 else random_numbers.choice(values)


def _moved(random_numbers: random.Random, ends: dict[str, int], name: str) -> str:
    """Return an offset that mostly advances; unknown in some snapshots."""
    ends[name] += random_numbers.choice((0, 1, 5, 5, 5, -2))
    return UNKNOWN if random_numbers.random() < 0.1 else str(ends[name])


def expected(seen: Sequence[Seen]) -> Iterator[Change]:
    """Yield the changes of each snapshot against the one before it; ends of logs against the last known ones."""
    for number, (old, new) in enumerate(pairwise(seen), 2):
        for attribute in ("rack", "leader_id", "owner"):
            before, after = getattr(old, attribute), getattr(new, attribute)
            yield from _changes(
                number, attribute, before, after, {name for name in after if before[name] != after[name]}
            )
        known = _last_known_ends(seen, number - 1)
        ends = {name for name, end in new.high_watermark.items() if _went_back(known[name], end)}
        yield from _changes(number, "high_watermark", known, new.high_watermark, ends)
        before, after = old.committed_offset, new.committed_offset
        gone = {name for name in after if before[name] != UNKNOWN and after[name] == UNKNOWN}
        back = {name for name in after if _went_back(before[name], after[name])}
        yield from _changes(number, "committed_offset", before, after, gone | back)


def _last_known_ends(seen: Sequence[Seen], place: int) -> dict[str, str]:
    """Return the last known ends before a snapshot, among those of its UTC day and the last one before the day."""
    begin = max(place * HOURS_APART // 24 * 24 // HOURS_APART - 1, 0)
    known = dict.fromkeys(seen[place].high_watermark, UNKNOWN)
    for state in seen[begin:place]:
        known |= {name: end for name, end in state.high_watermark.items() if end != UNKNOWN}
    return known


def _went_back(old: str, new: str) -> bool:
    return UNKNOWN not in (old, new) and int(new) < int(old)


def _changes(
    number: int, attribute: str, before: Mapping[str, str], after: Mapping[str, str], names: set[str]
) -> Iterator[Change]:
    for name in names:
        yield str(number), name, attribute, before[name], after[name]


def written(seen: Sequence[Seen], path: Path) -> Path:
    """Write the snapshots as a worked example."""
    hours = [number * HOURS_APART for number in range(len(seen))]
    times = [[f"{20 + hour // 24} {hour % 24:02}:30 | 1 | 1"] for hour in hours]
    blocks = [_block("snapshots | captured_at | topics | groups", times)]
    blocks += [_block(header, [rows] * len(seen)) for header, rows in ALIKE.items()]
    tables = [list(_tables(state)) for state in seen]
    blocks += [_block(header, rows) for header, rows in zip(DRAWN, zip(*tables, strict=True), strict=True)]
    path.write_text("== drawn\n" + "\n".join(blocks), "utf-8")
    return path


def _tables(state: Seen) -> Iterator[list[str]]:
    """Yield the rows of the tables of DRAWN; an unknown commit has no row on even partitions, and null on odd ones."""
    yield [f"{broker} | h | 9092 | {rack}" for broker, rack in state.rack.items()]
    yield [f"a | {name[-1]} | {leader} | [1, 2] | [1, 2]" for name, leader in state.leader_id.items()]
    yield [f"a | {name[-1]} | 0 | {end}" for name, end in state.high_watermark.items()]
    yield [f"g | a | {name[-1]} | {owner}" for name, owner in state.owner.items()]
    commits = state.committed_offset.items()
    yield [f"g | a | {name[-1]} | {commit}" for name, commit in commits if commit != UNKNOWN or int(name[-1]) % 2]


def _block(header: str, rows: Sequence[Sequence[str]]) -> str:
    lines = [f"{number} | {row}" for number, of_snapshot in enumerate(rows, 1) for row in of_snapshot]
    return "\n".join([header, *lines, ""])


@pytest.mark.parametrize("seed", first(range(10), 2))
def test_changes_of_a_random_history(seed: int, tmp_path: Path) -> None:
    """The view has each change of a random history over ten days, and no other."""
    seen = drawn(random.Random(seed))
    (example,) = read_examples(written(seen, tmp_path / "drawn.txt"))
    numbers = example.numbers()
    rows = by_duckdb(dict(tables_of([example])), "topology_changes").to_pylist()
    shown = [
        (
            numbers[row["snapshot_id"]],
            row["entity"],
            row["attribute"],
            *(UNKNOWN if value is None else value for value in (row["old_value"], row["new_value"])),
        )
        for row in rows
    ]
    wanted = sorted(expected(seen))
    assert len(wanted) > SNAPSHOTS
    assert sorted(shown) == wanted
