"""docs/queries.md: its statements over histories in which something is unknown, repeated or gone; a statement of docs/sql.md."""

from pathlib import Path
from typing import Any

from kafka_lagoon.query.statements import tuples
from tests.cookbook.pages import QUERIES, ROOT, statements
from tests.query.duckdb_rows import rows_of
from tests.query.views.worked_examples import lake_of_text

_STATEMENTS = statements(QUERIES.read_text("utf-8"))


def _answer(folder: Path, words: str, history: str) -> list[tuple[Any, ...]]:
    """Run the statement with these words over a history, with times as text of hours and minutes."""
    (statement,) = (one for one in _STATEMENTS if words in one)
    with rows_of(lake_of_text(folder, history), statement) as rows:
        return [tuple(f"{one:%d %H:%M}" if hasattr(one, "hour") else one for one in row) for row in tuples(rows)]


_LEADERLESS = """\
== a partition without a leader while a group is behind
snapshots | captured_at | slot
1         | 17 10:00    | 17 10:00
2         | 17 11:00    | 17 11:00
3         | 17 12:00    | 17 12:00
4         | 17 13:00    | 17 13:00

consumer_groups | group_id | state  | members
4               | g        | Stable | 1

consumer_lag | group_id | topic | partition | committed_offset | high_watermark | lag  | lag_basis | problem
1            | g        | a     | 0         | 100              | 600            | 500  | committed |
1            | g        | a     | 1         | 100              | 600            | 500  | committed |
1            | g        | b     | 0         | -                | 9              | -    | log_start | NO_COMMIT
2            | g        | a     | 0         | 100              | 5100           | 5000 | committed |
2            | g        | a     | 1         | 100              | 5100           | 5000 | committed |
3            | g        | a     | 0         | 100              | -              | -    | unknown   | LEADER_NOT_AVAILABLE
3            | g        | a     | 1         | 4500             | 5400           | 900  | committed |
4            | g        | a     | 0         | 100              | 6100           | 6000 | committed |
4            | g        | a     | 1         | 4500             | 6100           | 1600 | committed |
"""


def test_an_unknown_lag_is_not_within_the_limit(tmp_path: Path) -> None:
    """A group is behind since 11:00, although less than the limit is known of it at 12:00."""
    assert [row[-1] for row in _answer(tmp_path, "AS since\n", _LEADERLESS)] == ["17 11:00"]


def test_a_status_that_returns_has_two_rows(tmp_path: Path) -> None:
    """A consumer that stood still twice did not stand still in between."""
    times = [f"20 {number // 2:02}:{number % 2 * 30:02}" for number in range(1, 31)]
    ends = [100 * number for number in range(1, 31)]
    commits = [50] * 4 + ends[4:14] + [ends[13]] * 16
    history = ["== two stalls", "snapshots | captured_at"]
    history += [f"{number} | {time}" for number, time in enumerate(times, 1)]
    history += ["", "consumer_lag | group_id | topic | partition | committed_offset | high_watermark | lag | member_id"]
    history += [
        f"{number} | g | a | 0 | {commit} | {end} | {end - commit} | m"
        for number, (commit, end) in enumerate(zip(commits, ends, strict=True), 1)
    ]
    assert _answer(tmp_path, "FROM group_status\n", "\n".join(history)) == [
        ("g", "STALL", "20 01:30", "20 02:00", 350),
        ("g", "STALL", "20 12:00", "20 15:00", 1600),
    ]


_EXPIRED = """\
== a group whose commits expire, and that returns
snapshots | captured_at | slot
1         | 17 10:00    | 17 10:00
2         | 17 11:00    | 17 11:00
3         | 17 12:00    | 17 12:00
4         | 17 13:00    | 17 13:00
5         | 17 14:00    | 17 14:00

consumer_groups | group_id | state  | members
1               | g        | Empty  | 0
2               | g        | Empty  | 0
4               | g        | Empty  | 0
1               | other    | Stable | 1
2               | other    | Empty  | 0
3               | other    | Empty  | 0
4               | other    | -      | -
5               | other    | Empty  | 0
"""


def test_a_group_that_was_gone_has_two_rows(tmp_path: Path) -> None:
    """A group does not exist while it is not listed, and nothing is known of a group that was not described."""
    assert _answer(tmp_path, "AS first_without_members", _EXPIRED) == [
        ("g", "17 10:00", "17 11:00", 2),
        ("other", "17 11:00", "17 12:00", 2),
        ("g", "17 13:00", "17 13:00", 1),
        ("other", "17 14:00", "17 14:00", 1),
    ]


def test_a_status_of_a_group_that_was_gone_has_two_rows(tmp_path: Path) -> None:
    """The status of the group, a snapshot before it is gone, does not last until it returns."""
    history = ["== gone", "snapshots | captured_at", *(f"{number} | 20 {number:02}:00" for number in range(1, 10))]
    history += ["", "consumer_lag | group_id | topic | partition | committed_offset | high_watermark | lag"]
    history += [f"{number} | g | a | 0 | 5 | {100 * number} | {100 * number - 5}" for number in (1, 2, 3, 7, 8, 9)]
    history += [f"{number} | other | a | 0 | {100 * number} | {100 * number} | 0" for number in range(1, 10)]
    assert _answer(tmp_path, "FROM group_status\n", "\n".join(history)) == [
        ("g", "STOP", "20 03:00", "20 03:00", 295),
        ("g", "STOP", "20 07:00", "20 09:00", 895),
    ]


_EMPTY = """\
== a topic that nobody has written to
snapshots | captured_at | slot
1         | 14 10:00    | 14 10:00
2         | 17 10:00    | 17 10:00
3         | 17 11:00    | 17 11:00

consumer_lag | group_id | topic  | log_start_offset | high_watermark | lag | lag_basis | time_lag_ms | problem
1            | g        | orders | 0                | 900            | 9   | committed | 900000      |
2            | g        | orders | 0                | 900            | 0   | committed | 0           |
3            | g        | orders | 0                | 900            | 9   | committed | 900000      |
1            | g        | rare   | 0                | 0              | -   | log_start | -           | NO_COMMIT
2            | g        | rare   | 0                | 0              | -   | log_start | -           | NO_COMMIT
3            | g        | rare   | 0                | 0              | -   | log_start | -           | NO_COMMIT
2            | h        | orders | 0                | 900            | -   | log_start | -           | NO_COMMIT
3            | h        | orders | 0                | -              | -   | unknown   | -           | LEADER_NOT_AVAILABLE
"""


def test_nothing_to_read_is_on_time(tmp_path: Path) -> None:
    """A partition without a commit is unknown only if it has records, and days before the week do not count."""
    assert _answer(tmp_path, "AS percent_on_time", _EMPTY) == [("g", 50.0, 0.3, 2, 2), ("h", None, None, 0, 2)]


_LOST_TWICE = """\
== a group that loses records twice
snapshots | captured_at | slot
1         | 17 10:00    | 17 10:00
2         | 17 11:00    | 17 11:00
3         | 17 12:00    | 17 12:00
4         | 17 13:00    | 17 13:00

consumer_lag | group_id | topic | topic_id | committed_offset | log_start_offset | records_lost
1            | g        | a     | A        | 100              | 1100             | 1000
2            | g        | a     | A        | 100              | 1200             | 1100
3            | g        | a     | A        | 2000             | 1200             | 0
4            | g        | a     | A        | 2000             | 2500             | 500
"""


def test_each_loss_is_a_row(tmp_path: Path) -> None:
    """Two losses of a partition are 1,600 records, not the larger of the two."""
    assert _answer(tmp_path, "AS first_lost", _LOST_TWICE) == [
        ("g", "a", 0, 100, 1100, "17 10:00", "17 11:00"),
        ("g", "a", 0, 2000, 500, "17 13:00", "17 13:00"),
    ]


_MOVED_WHILE_LOST = """\
== a consumer that commits what it had fetched before it was deleted, and groups that are set back
snapshots | captured_at | slot
1         | 17 10:00    | 17 10:00
2         | 17 11:00    | 17 11:00
3         | 17 12:00    | 17 12:00
4         | 17 13:00    | 17 13:00

consumer_lag | group_id | topic | topic_id | committed_offset | log_start_offset | records_lost
1            | slow     | a     | A        | 100              | 300              | 200
2            | slow     | a     | A        | 150              | 300              | 150
3            | slow     | a     | A        | 150              | -                | -
4            | slow     | a     | A        | 150              | 400              | 250
1            | back     | a     | A        | 100              | 300              | 200
2            | back     | a     | A        | 40               | 300              | 260
1            | again    | a     | A        | 100              | 300              | 200
2            | again    | a     | A        | 350              | 300              | 0
3            | again    | a     | A        | 200              | 300              | 100
4            | again    | a     | A        | 380              | 410              | 30
1            | new      | a     | A        | 100              | 300              | 200
2            | new      | a     | B        | 100              | 150              | 50
"""


def test_losses_that_last_do_not_overlap(tmp_path: Path) -> None:
    """A commit that moves below the start of the log is of the same loss; after other progress it is of another one."""
    assert _answer(tmp_path, "AS first_lost", _MOVED_WHILE_LOST) == [
        ("back", "a", 0, 40, 260, "17 10:00", "17 11:00"),
        ("slow", "a", 0, 150, 250, "17 10:00", "17 13:00"),
        ("again", "a", 0, 100, 200, "17 10:00", "17 10:00"),
        ("new", "a", 0, 100, 200, "17 10:00", "17 10:00"),
        ("again", "a", 0, 200, 100, "17 12:00", "17 12:00"),
        ("new", "a", 0, 100, 50, "17 11:00", "17 11:00"),
        ("again", "a", 0, 380, 30, "17 13:00", "17 13:00"),
    ]


_ELECTIONS = """\
== elections at midnight, a topic that is created at noon, and partitions without a leader since the day before
snapshots | captured_at | slot
1         | 18 23:00    | 18 23:00
2         | 19 00:00    | 19 00:00
3         | 19 23:00    | 19 23:00
4         | 20 00:00    | 20 00:00
5         | 20 23:00    | 20 23:00
6         | 21 00:00    | 21 00:00

partitions | topic    | topic_id | partition | leader_epoch | is_leaderless | is_preferred_leader
1          | midnight | M        | 0         | 1            | false         | true
2          | midnight | M        | 0         | 2            | false         | false
3          | midnight | M        | 0         | 4            | false         | true
4          | midnight | M        | 0         | 5            | false         | false
5          | midnight | M        | 0         | 5            | false         | true
6          | midnight | M        | 0         | 9            | false         | true
3          | before   | B        | 0         | 1            | false         | true
2          | before   | B        | 0         | 0            | true          | false
4          | before   | B        | 0         | 1            | false         | true
5          | before   | B        | 0         | 1            | false         | true
4          | noon     | N        | 0         | 0            | false         | true
5          | noon     | N        | 0         | 1            | false         | true
3          | down     | D        | 0         | 6            | true          | false
4          | down     | D        | 0         | 6            | true          | false
5          | down     | D        | 0         | 6            | true          | false
3          | gone     | G        | 0         | 6            | true          | false
4          | old      | -        | 0         | -            | true          | -
5          | old      | -        | 0         | -            | false         | true
"""


def test_elections_of_a_day_begin_at_the_snapshot_before_it(tmp_path: Path) -> None:
    """Those of the days before and after do not count; a partition without a leader is shown without any election."""
    assert _answer(tmp_path, "AS elections", _ELECTIONS) == [
        ("down", 0, 0, 2, "20 00:00", "20 23:00"),
        ("old", 0, None, 1, "20 00:00", "20 00:00"),
        ("midnight", 0, 1, 0, "20 00:00", "20 00:00"),
        ("noon", 0, 1, 0, None, None),
    ]


_UNKNOWN_ENDS = """\
== a topic of which a partition has no leader for an hour, and one of which nothing is known
snapshots | captured_at | slot
1         | 18 10:00    | 18 10:00
2         | 18 11:00    | 18 11:00
3         | 18 12:00    | 18 12:00
4         | 18 13:00    | 18 13:00

partitions | topic | topic_id | partition | leader_id
1          | a     | A        | 0         | 1
1          | a     | A        | 1         | 1
2          | a     | A        | 0         | 1
2          | a     | A        | 1         | 1
3          | a     | A        | 0         | 1
3          | a     | A        | 1         | -
4          | a     | A        | 0         | 1
4          | a     | A        | 1         | 1
4          | new   | N        | 0         | 1

partition_offsets | topic | topic_id | partition | log_start_offset | high_watermark | read_at
1                 | a     | A        | 0         | 0                | 0              | 18 10:00
1                 | a     | A        | 1         | 0                | 0              | 18 10:00
2                 | a     | A        | 0         | 0                | 7200           | 18 11:00
2                 | a     | A        | 1         | 0                | 7200           | 18 11:00
3                 | a     | A        | 0         | 0                | 14400          | 18 12:00
3                 | a     | A        | 1         | -                | -              | -
4                 | a     | A        | 0         | 0                | 21600          | 18 13:00
4                 | a     | A        | 1         | 0                | 21600          | 18 13:00
4                 | new   | N        | 0         | 0                | 5              | 18 13:00
"""


def test_a_mean_is_of_whole_topics(tmp_path: Path) -> None:
    """Two partitions with two records per second each make four, also if one of them is unknown for most of the time."""
    assert _answer(tmp_path, "AS mean_per_second", _UNKNOWN_ENDS) == [
        ("a", 4.0, 4.0, None, 28800, 50.0),
        ("new", None, None, None, None, 0.0),
    ]


_READERS = """\
== readers that subscribe by a pattern, or commit nothing
snapshots | captured_at | slot
1         | 14 10:00    | 14 10:00
2         | 17 10:00    | 17 10:00
3         | 17 11:00    | 17 11:00

group_members | group_id | member_id | subscribed_topics | subscribed_pattern
1             | former   | f         | ["orders"]        |
2             | pattern  | p         | -                 | ord.*
3             | pattern  | p         | -                 | ord.*
3             | new      | n         | ["orders"]        |

consumer_lag | group_id | topic  | topic_id | committed_offset | high_watermark | lag | lag_basis | member_id
1            | former   | orders | O        | 10               | 100            | 90  | committed | f
1            | pattern  | orders | O        | 5                | 100            | 95  | committed | p
2            | pattern  | orders | O        | 20               | 100            | 80  | committed | p
3            | pattern  | orders | O        | 70               | 100            | 30  | committed | p
3            | new      | orders | O        | -                | 100            | -   | log_start |
"""


def test_readers_by_pattern_and_without_commits(tmp_path: Path) -> None:
    """Members that subscribe by a pattern count, what is not committed is not 0, and last week's readers are left out."""
    assert _answer(tmp_path, "AS offsets_consumed", _READERS) == [
        ("pattern", 65, "17 10:00", "17 11:00", 2),
        ("new", None, None, None, 1),
    ]


_UNKNOWN_LAGS = """\
== a group that reads on while a snapshot knows no end, and then no commit; the topic is created again
snapshots | captured_at | slot
1         | 17 10:00    | 17 10:00
2         | 17 11:00    | 17 11:00
3         | 17 12:00    | 17 12:00
4         | 17 13:00    | 17 13:00
5         | 17 14:00    | 17 14:00

consumer_lag | group_id | topic  | topic_id | committed_offset | high_watermark | lag | lag_basis | problem
1            | g        | orders | O        | 10               | 100            | 90  | committed |
2            | g        | orders | O        | 30               | -              | -   | unknown   | LEADER_NOT_AVAILABLE
3            | g        | orders | O        | -                | 100            | -   | unknown   | COORDINATOR_NOT_AVAILABLE
4            | g        | orders | O        | 70               | 100            | 30  | committed |
5            | g        | orders | P        | 500              | 600            | 100 | committed |
"""


def test_progress_beside_an_unknown_lag_counts(tmp_path: Path) -> None:
    """The commits that are known say how much a group consumed, also beside an unknown lag."""
    assert _answer(tmp_path, "AS offsets_consumed", _UNKNOWN_LAGS) == [("g", 60, "17 11:00", "17 13:00", 0)]


_THINNED = """\
== days of which retention has kept a snapshot each
snapshots | captured_at | slot
1         | 12 00:00    | 12 00:00
2         | 13 00:00    | 13 00:00
3         | 15 00:00    | 15 00:00
4         | 15 01:00    | 15 01:00
5         | 15 03:00    | 15 03:00
"""


def test_thinned_days_are_no_missing_runs(tmp_path: Path) -> None:
    """Runs are missing where the schedule had some; what retention removed later cannot be distinguished from them."""
    assert _answer(tmp_path, "AS previous_slot", _THINNED) == [("15 01:00", "15 03:00")]


_OWNERS = """\
== partitions without a known owner
snapshots | captured_at | slot
1         | 17 10:00    | 17 10:00
2         | 17 11:00    | 17 11:00

consumer_lag | group_id | group_state         | topic | partition | lag | lag_basis | member_id | problem
1            | gone     | Empty               | a     | 0         | 5   | committed |           |
2            | half     | Stable              | a     | 0         | 5   | committed | m         |
2            | half     | Stable              | a     | 1         | 7   | committed |           |
2            | half     | Stable              | a     | 2         | -   | log_start |           | NO_COMMIT
2            | half     | Stable              | b     | 0         | 5   | committed | m         |
2            | moving   | PreparingRebalance  | a     | 0         | 5   | committed |           |
2            | unknown  | -                   | a     | 0         | 5   | committed |           | COORDINATOR_NOT_AVAILABLE
"""


def test_partitions_that_no_member_owns(tmp_path: Path) -> None:
    """They are listed with what explains an owner that is not known; groups that are gone are not listed."""
    assert _answer(tmp_path, "AS without_owner", _OWNERS) == [
        ("half", "Stable", "a", 1, 3, 2, 7, "NO_COMMIT"),
        ("moving", "PreparingRebalance", "a", 0, 1, 1, 5, None),
        ("unknown", None, "a", 0, 1, 1, 5, "COORDINATOR_NOT_AVAILABLE"),
    ]


_DISKS = """\
== a failed directory beside a full one
snapshots | captured_at | slot
1         | 17 10:00    | 17 10:00

log_dirs | broker_id | log_dir | topic | partition | size_bytes | total_bytes | usable_bytes | problem
1        | 1         | /a      | t     | 0         | 1000000    | 100         | 10           |
1        | 1         | /a      | t     | 1         | 2000000    | 100         | 10           |
1        | 1         | /b      | -     | -         | -          | -           | -            | KAFKA_STORAGE_ERROR
1        | 2         | /a      | t     | 0         | 1000000    | -           | -            |
"""


def test_volumes_are_not_summed_over_replicas(tmp_path: Path) -> None:
    """A volume of two replicas is as full as it is; where its size is not known, nothing is said about it."""
    assert _answer(tmp_path, "AS percent_full", _DISKS) == [
        (1, "/a", 2, 3.0, 90.0, None),
        (1, "/b", 0, None, None, "KAFKA_STORAGE_ERROR"),
        (2, "/a", 1, 1.0, None, None),
    ]


_SEVERITIES = """\
== findings of each severity
snapshots | captured_at
1         | 17 10:00

coverage | api      | requests
1        | Metadata | 1

brokers | broker_id | is_fenced
1       | 1         | true

partitions | topic | partition | leader_id | replicas | isr   | is_leaderless | is_under_min_isr | is_preferred_leader
1          | a     | 0         | 2         | [1, 2]   | [2]   | false         | false            | false
1          | b     | 0         | -         | [1]      | [1]   | true          | false            | true
"""


def test_the_worst_finding_comes_first(tmp_path: Path) -> None:
    """The statement of docs/sql.md puts warnings before what is only worth knowing, unlike the alphabet."""
    (statement,) = (
        one
        for block in statements((ROOT / "docs" / "sql.md").read_text("utf-8"))
        for one in block.split(";")
        if "FROM health_findings" in one
    )
    with rows_of(lake_of_text(tmp_path, _SEVERITIES), statement) as rows:
        assert [severity for _, severity, *_ in tuples(rows)] == ["critical", "warning", "info"]
