"""View health_findings says since when a finding is there: a plain function that goes back from each snapshot agrees.

Each sequence of four snapshots is a cluster of its own, with a reassignment in some of them. Leaders above the even share are
tested here, too: they need more partitions than an example should list.
"""

from datetime import UTC, datetime, timedelta
from itertools import product

from tests.query.views.engines import by_duckdb
from tests.query.views.worked_examples import Example, _add, tables_of

_START = datetime(2026, 11, 20, 22, 30, tzinfo=UTC)  # the third snapshot is of another day
# F: the list has the reassignment. -: it is complete without it. f, x: the request failed, with and without rows. s: it was skipped.
_LETTERS = "F-fxs"


def _example(letters: str) -> Example:
    times = {str(number): _START + timedelta(minutes=50 * number) for number in range(len(letters))}
    example = Example(name=letters)
    _add(example, [["snapshots", "captured_at"], *([number, f"{at:%d %H:%M}"] for number, at in times.items())])
    requested, skipped, failed, listed = (
        [str(number) for number, letter in enumerate(letters) if letter in which] for which in ("F-fx", "s", "fx", "Ff")
    )
    api = "ListPartitionReassignments"
    _add(example, [["coverage", "api", "requests"], *([number, api, "1"] for number in requested)])
    _add(example, [["coverage", "skipped_table"], *([number, "reassignments"] for number in skipped)])
    _add(example, [["collection_failures", "api", "error_name"], *([number, api, "E"] for number in failed)])
    _add(example, [["reassignments", "topic", "adding_replicas"], *([number, "a", "[3]"] for number in listed)])
    return example


def _series(letters: str, place: int) -> list[int]:
    """Return the snapshots that have had the finding without an end, the last one first."""
    series = [place]
    for earlier in range(place - 1, -1, -1):
        if letters[earlier] == "-":
            break
        if letters[earlier] in "Ff":
            series.append(earlier)
    return series


def test_the_first_of_consecutive_snapshots() -> None:
    """Snapshots without the table are skipped, and those with a part of it end nothing. After an hour it is stuck."""
    sequences = ["".join(letters) for letters in product(_LETTERS, repeat=4)]
    examples = [_example(letters) for letters in sequences]
    numbers = {example.name: example.numbers() for example in examples}
    shown = sorted(
        (
            row["cluster"],
            int(numbers[row["cluster"]][row["snapshot_id"]]),
            row["since"],
            row["snapshots"],
            row["finding"],
        )
        for row in by_duckdb(dict(tables_of(examples)), "health_findings").to_pylist()
    )
    wanted = []
    for letters in sequences:
        for place in (place for place, letter in enumerate(letters) if letter in "Ff"):
            series = _series(letters, place)
            finding = "stuck_reassignment" if place - series[-1] > 1 else "reassignment"
            wanted.append((letters, place, _START + timedelta(minutes=50 * series[-1]), len(series), finding))
    assert shown == sorted(wanted)


def test_leaders_above_the_even_share() -> None:
    """A broker that leads exactly a fifth more than its share has no finding; the next partition is one too many."""
    examples = []
    for led, others in ((12, 8), (13, 8)):
        example = Example(name=f"{led} and {others}")
        _add(example, [["snapshots", "captured_at"], ["1", "10:00"]])
        _add(example, [["coverage", "api", "requests"], ["1", "Metadata", "1"]])
        _add(example, [["brokers", "broker_id"], ["1", "1"], ["1", "2"]])
        leaders = ["1"] * led + ["2"] * others
        partitions = [["1", "t", str(number), leader] for number, leader in enumerate(leaders)]
        _add(example, [["partitions", "topic", "partition", "leader_id"], *partitions])
        examples.append(example)
    rows = by_duckdb(dict(tables_of(examples)), "health_findings").to_pylist()
    skewed = [(row["cluster"], row["entity"], row["detail"]) for row in rows if row["finding"] == "leader_skew"]
    assert skewed == [("13 and 8", "1", "leads 13 of 21 partitions, one of 2 brokers")]
