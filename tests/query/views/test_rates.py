"""Views lag_trend and topic_throughput mean what their columns say: a plain function of two snapshots has the same rates.

Many short random histories are written as worked examples: with unknown offsets, topics that were created again, offsets that
went back, missing snapshots, and clocks that stood still or were set back.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.query.views.engines import by_duckdb
from tests.query.views.worked_examples import read_examples, tables_of

HISTORIES = 120
SNAPSHOTS = 4
PARTITIONS = ("0", "1")
Row = tuple[str | float | None, ...]


@dataclass(slots=True)
class Seen:
    """A snapshot: its time, and by partition its topic id, end, commit, and when the end was read."""

    seconds: int
    is_published: bool
    topic_id: str | None
    ends: dict[str, int | None] = field(default_factory=dict)
    commits: dict[str, int | None] = field(default_factory=dict)
    read_at: dict[str, int] = field(default_factory=dict)

    def lag(self, partition: str) -> int | None:
        """Return the lag of the group; None if the end or the commit is unknown."""
        end, commit = self.ends.get(partition), self.commits.get(partition)
        return None if end is None or commit is None else end - commit


def drawn(numbers: random.Random) -> list[Seen]:
    """Return the snapshots of a history."""
    seen, end, commit = list[Seen](), dict.fromkeys(PARTITIONS, 20), dict.fromkeys(PARTITIONS, 10)
    seconds, topic_id = 36_000, numbers.choice(["A", None])
    for _ in range(SNAPSHOTS):
        seconds += numbers.choice([10, 10, 10, 60])
        topic_id = numbers.choice(["A", "B", None]) if numbers.random() < 0.1 else topic_id
        now = Seen(seconds=seconds, is_published=numbers.random() < 0.9, topic_id=topic_id)
        for partition in PARTITIONS:
            end[partition] += numbers.choice([0, 5, 20, -3])
            commit[partition] += numbers.choice([0, 5, 20, -3])
            if numbers.random() < 0.9:
                now.ends[partition] = None if numbers.random() < 0.1 else end[partition]
                now.commits[partition] = None if numbers.random() < 0.1 else commit[partition]
                now.read_at[partition] = seconds + numbers.choice([0, 1, 1, 1, 10, 25])
        seen.append(now)
    return seen


def written(histories: Sequence[Sequence[Seen]], path: Path) -> Path:
    """Write each history as a worked example, which is a cluster of its own."""
    path.write_text("\n".join(_text(number, seen) for number, seen in enumerate(histories)), "utf-8")
    return path


def _text(number: int, seen: Sequence[Seen]) -> str:
    blocks: dict[str, Sequence[str | Sequence[str]]] = {
        "snapshots | captured_at | published": [
            f"{_time(now.seconds)} | {'' if now.is_published else 'no'}" for now in seen
        ],
        "partition_offsets | topic | topic_id | partition | log_start_offset | high_watermark | read_at": [
            [
                f"a | {_cell(now.topic_id)} | {part} | 0 | {_cell(end)} | {_time(now.read_at[part])}"
                for part, end in now.ends.items()
            ]
            for now in seen
        ],
        "consumer_lag | group_id | topic | topic_id | partition | high_watermark | committed_offset | lag": [
            [
                f"g | a | {_cell(now.topic_id)} | {part} | {_cell(end)} | {_cell(now.commits[part])} | {_cell(now.lag(part))}"
                for part, end in now.ends.items()
            ]
            for now in seen
        ],
    }
    lines = [f"== {number}"]
    for header, rows in blocks.items():
        each = [[row] if isinstance(row, str) else row for row in rows]
        lines += [header, *(f"{place} | {row}" for place, some in enumerate(each, 1) for row in some), ""]
    return "\n".join(lines)


def _cell(value: int | str | None) -> str:
    return "-" if value is None else str(value)


def _time(seconds: int) -> str:
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def pairs(seen: Sequence[Seen]) -> list[tuple[str, Seen, Seen | None]]:
    """Return the published snapshots, each with its number and the published one before it."""
    published = [(str(number), now) for number, now in enumerate(seen, 1) if now.is_published]
    before = [None, *(now for _, now in published)]
    return [(number, now, then) for (number, now), then in zip(published, before, strict=False)]


def trend(now: Seen, then: Seen | None, part: str) -> Row:
    """Return the rates of a group on a partition, and the time until it has caught up, or why there is none."""
    lag, old = now.lag(part), then.lag(part) if then else None
    reason = None
    if lag is None:
        reason = "lag_unknown"
    elif then is None:
        reason = "first_snapshot"
    elif old is None:
        reason = "previous_lag_unknown"
    elif then.topic_id != now.topic_id:
        reason = "topic_recreated"
    if reason or lag is None or old is None or then is None:
        return (
            None,
            None,
            0.0 if lag is not None and lag <= 0 else None,
            None if lag is not None and lag <= 0 else reason,
        )
    passed = now.seconds - then.seconds
    produced, consumed = _moved(then.ends[part], now.ends[part]), _moved(then.commits[part], now.commits[part])
    rates = [round(change / passed, 6) if change >= 0 else None for change in (produced, consumed)]
    if lag <= 0:
        return *rates, 0.0, None
    back = "end_moved_back" if produced < 0 else "commit_moved_back" if consumed < 0 else None
    reason = back or ("lag_not_shrinking" if lag >= old else None)
    return *rates, None if reason else round(lag * passed / (old - lag), 6), reason


def _moved(old: int | None, new: int | None) -> int:
    assert old is not None
    assert new is not None  # both lags are known
    return new - old


def rate(now: Seen, then: Seen | None, part: str) -> float | None:
    """Return the records per second of a partition; None if nothing says how fast its end has advanced."""
    if then is None or then.topic_id != now.topic_id:
        return None
    end, old = now.ends[part], then.ends.get(part)
    if end is None or old is None or end < old or now.read_at[part] <= then.read_at[part]:
        return None
    return (end - old) / (now.read_at[part] - then.read_at[part])


@pytest.mark.parametrize("view", ["lag_trend", "topic_throughput"])
def test_rates_are_those_of_two_snapshots(view: str, tmp_path: Path) -> None:
    """Each rate of each history is that of the plain function, and so is the reason for each that is missing."""
    numbers = random.Random(7)
    histories = [drawn(numbers) for _ in range(HISTORIES)]
    examples = read_examples(written(histories, tmp_path / "drawn.txt"))
    shown, wanted = set[Row](), set[Row]()
    for row in by_duckdb(dict(tables_of(examples)), view).to_pylist():
        number = examples[int(row["cluster"])].numbers()[row["snapshot_id"]]
        if view == "lag_trend":
            rates = (row["produce_rate"], row["consume_rate"], row["seconds_to_catch_up"])
            plain = [None if value is None else round(value, 6) for value in rates]
            shown.add((row["cluster"], number, str(row["partition"]), *plain, row["no_estimate_because"]))
        else:
            value = row["records_per_second"]
            shown.add((row["cluster"], number, row["rate_partitions"], None if value is None else round(value, 6)))
    for place, seen in enumerate(histories):
        for number, now, then in pairs(seen):
            if view == "lag_trend":
                wanted |= {(str(place), number, part, *trend(now, then, part)) for part in now.ends}
            elif now.ends:
                known = [value for part in now.ends if (value := rate(now, then, part)) is not None]
                wanted.add((str(place), number, len(known), round(sum(known), 6) if known else None))
    assert len(wanted) > HISTORIES * 3
    assert shown == wanted
