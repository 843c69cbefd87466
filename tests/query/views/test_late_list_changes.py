"""A change of a list shows once in topology_changes, although snapshots see more or less of the list.

Each cluster has another sequence of visibilities, and a topic for each way to come and go meanwhile. A plain function lists the
pairs of snapshots that can be compared: neighbours of which the list without the topic is complete, and each list with the
latest one of the same visibility.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

import pytest

from tests.effort import first
from tests.query.views.engines import by_duckdb
from tests.query.views.worked_examples import read_examples, tables_of

VISIBILITIES = {"c": "complete", "f": "filtered", "u": "unknown"}
ABSENT = "."
Row = tuple[int, int, str]  # places of the later and the earlier snapshot, and the type of the change


def written(clusters: Sequence[str], topics: Sequence[str], path: Path) -> Path:
    """Write each sequence of visibilities as a worked example with all of the topics; a letter is the topic's id."""
    path.write_text("\n".join(_text(cluster, topics) for cluster in clusters), "utf-8")
    return path


def _text(cluster: str, topics: Sequence[str]) -> str:
    numbers = range(1, len(cluster) + 1)
    blocks = {
        "snapshots | captured_at | topics | groups": [f"{number} | {9 + number}:00 | 1 | 1" for number in numbers],
        "coverage | api | requests | visibility": [
            f"{number} | Metadata | 1 | {VISIBILITIES[letter]}" for number, letter in zip(numbers, cluster, strict=True)
        ],
        "topics | topic | topic_id": [
            f"{number} | t{topic} | {topic[number - 1]}"
            for topic in topics
            for number in numbers
            if topic[number - 1] != ABSENT
        ],
    }
    return "\n".join([f"== {cluster}", *(line for header, rows in blocks.items() for line in (header, *rows, ""))])


def provable(cluster: str, topic: str) -> Iterator[Row]:
    """Yield the changes that comparisons show, each between the two lists that are compared."""
    for place, visibility in enumerate(cluster):
        alike = cluster.rfind(visibility, 0, place)
        for earlier in {place - 1, alike} - {-1}:
            old, new, is_alike = topic[earlier], topic[place], cluster[earlier] == visibility
            if old == ABSENT != new and (is_alike or cluster[earlier] == "c"):
                yield place, earlier, "added"
            elif new == ABSENT != old and (is_alike or visibility == "c"):
                yield place, earlier, "removed"
            elif old != new:
                yield from [(place, earlier, "recreated")] if ABSENT not in (old, new) else []


def faults(cluster: str, topic: str, rows: Sequence[Row]) -> Iterator[str]:
    """Yield the rows that are no change of the topic, or one that another row shows, and the changes that no row shows."""
    changed = [place for place in range(1, len(topic)) if topic[place] != topic[place - 1]]
    newly = [place for place in changed if topic[place] != ABSENT]
    gone = [place for place in changed if topic[place - 1] != ABSENT]
    for later, earlier, kind in sorted(rows):
        left = gone if kind == "removed" else newly
        place = next((place for place in left if earlier < place <= later), None)
        if place is None:
            yield f"{kind} in {later}, compared with {earlier}, is no change of its own"
        else:
            left.remove(place)
    for later, earlier, kind in provable(cluster, topic):
        kinds = ("removed",) if kind == "removed" else ("added", "recreated")
        if not any(max(earlier, row[1]) < min(later, row[0]) and row[2] in kinds for row in rows):
            yield f"{kind} between {earlier} and {later} does not show"


def every(visibilities: str, snapshots: int) -> list[str]:
    """Return all sequences of these visibilities."""
    return ["".join(letters) for letters in product(visibilities, repeat=snapshots)]


@pytest.mark.parametrize(
    ("clusters", "ids"),
    first(
        [
            (every("cf", 5), ".A"),
            (every("cfu", 4), ".A"),
            (["cfcffc"], ".AB"),
            (every("cf", 6), ".AB"),
            (every("cfu", 6), ".A"),
            (every("cfu", 5), ".AB"),
        ],
        3,
    ),
    ids=["two", "three", "two steps", "two, longer", "three, longer", "three, and ids"],
)
def test_each_change_shows_once(clusters: Sequence[str], ids: str, tmp_path: Path) -> None:
    """Topics that come, go and are created again in every way show so, each change once, whatever the snapshots see."""
    topics = every(ids, len(clusters[0]))
    examples = read_examples(written(clusters, topics, tmp_path / "every.txt"))
    numbers = {example.name: example.numbers() for example in examples}
    shown: dict[tuple[str, str], list[Row]] = {(cluster, topic): [] for cluster in clusters for topic in topics}
    for row in by_duckdb(dict(tables_of(examples)), "topology_changes").to_pylist():
        cluster, ids_seen = row["cluster"], (row["snapshot_id"], row["previous_snapshot_id"])
        later, earlier = (int(numbers[cluster][snapshot_id]) - 1 for snapshot_id in ids_seen)
        shown[cluster, row["topic"][1:]].append((later, earlier, row["change_type"]))
    assert not [
        (cluster, topic, fault) for (cluster, topic), rows in shown.items() for fault in faults(cluster, topic, rows)
    ]
