"""`lagoon lag`: the lag in the newest snapshot of each cluster, the worst first."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kafka_lagoon.cli.tables.snapshots import ChosenSnapshot
from kafka_lagoon.cli.thresholds import NOTHING_SELECTED
from kafka_lagoon.text import duration, printable
from tests.cli.tables.conftest import NOW_MS, Ask, group
from tests.delta.lake import make_lake
from tests.delta.samples import HOSTILE, HOUR_MS, NOON_MS, lag_row, snapshot
from tests.effort import first

pytestmark = pytest.mark.long

DEFAULT = ("--cluster", "default")
AHEAD = "AHEAD: a clock is or was wrong, and no later snapshot replaces it before that time"


def order(ask: Ask, *argv: str) -> list[tuple[str, str, int]]:
    shown = ask("lag", "--json", *DEFAULT, *argv)
    return [(one["group_id"], one["topic"], one["partition"]) for one in shown.rows("lag")]


def test_what_hurts_most_stands_first(ask: Ask) -> None:
    """Lost records, then unknown ages (a commit past the end), then the oldest; groups without a commit are last."""
    assert order(ask) == [
        ("lost", "orders", 0),
        (HOSTILE, "orders", 0),
        ("billing", "orders", 1),
        ("billing", "orders", 0),
        ("idle", "orders", 0),
        ("billing", "payments", 0),
    ]
    groups = [one["group_id"] for one in ask("lag", "--json", *DEFAULT).rows("group")]
    assert groups == ["lost", HOSTILE, "billing", "idle"]


@pytest.mark.parametrize(
    ("sort", "first"),
    [("lag", ("billing", "orders", 0)), ("time", (HOSTILE, "orders", 0)), ("lost", ("lost", "orders", 0))],
)
def test_the_order_can_be_chosen(ask: Ask, sort: str, first: tuple[str, str, int]) -> None:
    """Rows can be ordered by a single number or by name."""
    assert order(ask, "--sort", sort)[0] == first
    assert order(ask, "--sort", "group") == sorted(order(ask))


@pytest.mark.parametrize("argument", ["a\udcffb", r"a\xffb"])
def test_a_group_whose_id_is_not_utf_8(run: Ask, tmp_path: Path, argument: str) -> None:
    """It is chosen by its bytes, as for `lagoon kafka lag`, or as the tables spell it."""
    lake = make_lake(tmp_path, [snapshot(1, group("a\udcffb"), lag_row("a\udcffb", "orders", 0, lag=5))])
    for words in ([argument], ["--group", argument]):
        shown = run("lag", *words, "--json", "--warehouse", str(lake))
        assert ([one["group_id"] for one in shown.rows("lag")], shown.code, shown.err) == ([r"a\xffb"], 0, "")


@pytest.mark.parametrize(("command", "option"), [("lag", "--group"), ("health", "--topic"), ("changes", "--group")])
def test_a_name_that_is_not_utf_8_and_not_there(ask: Ask, command: str, option: str) -> None:
    """It is missing like any other name: exit 3 with a line, and no error of the engine."""
    shown = ask(command, option, "a\udcffb")
    assert (shown.code, shown.err) == (3, f"lagoon: {option.removeprefix('--')} a\\xffb: not in the snapshot\n")


def test_an_age_that_is_not_known_may_be_any(ask: Ask) -> None:
    """A partition that was not measured comes before measured ones, and its limit counts as passed."""
    shown = ask("lag", "--json", "--fail-above", "time=1h", "--cluster", "second")
    assert [one["partition"] for one in shown.rows("lag")] == [0, 1, 2]
    assert shown.err.splitlines()[0] == "lagoon: time not known of 2 partitions, e.g. other orders-0"


@pytest.mark.parametrize(
    ("filters", "left"),
    [
        (("billing",), {("billing", "orders", 0), ("billing", "orders", 1), ("billing", "payments", 0)}),
        (("--group", "billing,idle", "--topic", "payments"), {("billing", "payments", 0)}),
        (
            ("--pattern", "b.*|los.", "--topic", "orders", "--min-lag", "20"),
            {("billing", "orders", 0), ("lost", "orders", 0)},
        ),
        (("--pattern", "bill"), set()),
        (("--group", HOSTILE), {(HOSTILE, "orders", 0)}),
    ],
)
def test_filters(ask: Ask, filters: tuple[str, ...], left: set[tuple[str, str, int]]) -> None:
    """A row must match all filters; a pattern matches the whole id, with any characters in it."""
    assert set(order(ask, *filters)) == left


@pytest.mark.parametrize(
    ("pattern", "left"),
    [
        (r"gr\w+", ["größe"]),
        (r"billin.{,3}", ["billing"]),
        (r"(?!b).*r.*", ["größe", "order", "rotor"]),
        (r"(\w)\w*\1", ["rotor"]),
        (r"two.lines", []),
        (r".*g|", ["billing"]),
        (r"(?s:.*)", ["billing", "größe", "order", "rotor", "two\nlines"]),
    ],
)
def test_a_pattern_is_that_of_the_live_verb(tmp_path: Path, run: Ask, pattern: str, left: list[str]) -> None:
    """Python matches it: DuckDB's \\w is ASCII, it reads {,3} as text, and has neither lookaheads nor back references."""
    names = ["billing", "größe", "order", "rotor", "two\nlines"]
    rows = (row for name in names for row in (group(name), lag_row(name, "orders", 0, lag=1, records_lost=0)))
    make_lake(tmp_path, (snapshot(1, *rows, status="complete"),))
    shown = run("lag", "--json", "--pattern", pattern, "--sort", "group", "--warehouse", str(tmp_path))
    assert [one["group_id"] for one in shown.rows("lag")] == left
    assert [one["group_id"] for one in shown.rows("group")] == left
    assert left == [name for name in names if re.fullmatch(pattern, name)]


def test_a_limit_names_the_first_of_equal_rows(tmp_path: Path, run: Ask) -> None:
    """The first by group, topic and number of those with the highest value, and of those whose value is not known."""
    places = [("b", "t", 2), ("b", "t", 10), ("a", "u", 0), ("a", "t", 10), ("a", "t", 9)]
    rows = [
        row
        for group_id, topic, number in places
        for row in (
            lag_row(group_id, topic, number, lag=7, records_lost=0),
            lag_row(group_id, f"unknown-{topic}", number, lag=None, lag_basis="unknown", records_lost=0),
        )
    ]
    rows += [group("a"), group("b")]
    make_lake(tmp_path, (snapshot(1, *rows, status="complete"),))
    shown = run("lag", "--fail-above", "lag,total=9", "--warehouse", str(tmp_path))
    assert "lag above 0: 5 partitions, highest 7 (a t-9)" in shown.err
    assert "lag not known of 5 partitions, e.g. a unknown-t-9" in shown.err
    assert "total above 9: 2 groups, highest 21 (a)" in shown.err


def test_a_pattern_that_matches_many_groups(tmp_path: Path, run: Ask) -> None:
    """The statement names them in one value, whatever characters the names have."""
    names = [f"many {HOSTILE}{number:03d}\ue000" for number in range(150)]
    rows = (row for name in ("one", *names) for row in (group(name), lag_row(name, "orders", 0, lag=1, records_lost=0)))
    make_lake(tmp_path, (snapshot(1, *rows, status="complete"),))
    argv = ("lag", "--json", "--pattern", "(?s:many.*)", "--sort", "group", "--warehouse", str(tmp_path))
    shown = run(*argv, "--fail-above", "lag")
    assert [one["group_id"] for one in shown.rows("lag")] == names
    assert [one["group_id"] for one in shown.rows("group")] == names
    assert shown.err.startswith("lagoon: lag above 0: 150 partitions, highest 1 (many ")


def test_a_group_without_partitions_has_its_row(ask: Ask) -> None:
    """It has no row if options select partitions; sums count known values, and unknown values are not 0."""
    (billing,) = ask("lag", "billing", "--json").rows("group")
    assert {
        name: billing[name] for name in ("partitions", "known_partitions", "lag", "highest_lag", "time_lag_ms")
    } == {
        "partitions": 3,
        "known_partitions": 2,
        "lag": 1509,
        "highest_lag": 1500,
        "time_lag_ms": 7_200_000,
    }
    assert [one["group_id"] for one in ask("lag", *DEFAULT, "--topic", "payments", "--json").rows("group")] == [
        "billing"
    ]


def test_the_age_of_a_group_is_no_age_that_hides_another(ask: Ask) -> None:
    """The age is 0 if all is read, and null if the age of a partition is unknown, even if others are known."""
    ages = {one["group_id"]: one["time_lag_ms"] for one in ask("lag", "--json").rows("group")}
    assert ages == {"lost": 1, HOSTILE: None, "billing": 7_200_000, "idle": 0, "other": None}


def test_people_read_ages_and_what_is_missing(ask: Ask) -> None:
    """A line per cluster has the age of its snapshot, and INCOMPLETE if requests failed; a dash is unknown."""
    lines = ask("lag", "--number", "1").out.splitlines()
    assert lines[:2] == [
        "default: snapshot of 2025-11-21T14:00:00.123Z, 11m old",
        f"second: snapshot of 2025-11-21T15:00:00.123Z, 49m {AHEAD}, INCOMPLETE: 2 failures, see table collection_failures",
    ]
    assert [line.split() for line in lines[3:7]] == [
        ["group:"],
        ["cluster", "group", "state", "members", "partitions", "known", "lag", "time", "lost"],
        ["default", "lost", "-", "-", "1", "1", "20", "1ms", "3"],
        ["and", "4", "more"],
    ]
    assert lines[-2].split() == ["default", "lost", "orders", "0", "20", "1ms", "3", "-"]
    assert lines[-1] == "and 8 more"


def test_every_dash_has_its_reason(tmp_path: Path, run: Ask) -> None:
    """A partition without a time has the reason in column problem, and its group counts it beside the time."""
    rows = (
        lag_row("archive", "metrics", 0, lag=7, records_lost=0, time_lag_problem="OFFSET_OUT_OF_RANGE"),
        lag_row("archive", "metrics", 1, lag=9, records_lost=0, time_lag_ms=59_000),
        lag_row("archive", "metrics", 2, lag_basis="log_start"),
        lag_row("archive", "metrics", 3, problem="LEADER_NOT_AVAILABLE"),
    )
    make_lake(tmp_path, (snapshot(1, group("archive", state="Empty", members=0), *rows, status="complete"),))
    lines = run("lag", "--warehouse", str(tmp_path)).out.splitlines()
    assert [line.split() for line in lines[3:5]] == [
        ["group", "state", "members", "partitions", "known", "lag", "time", "time_unknown", "lost"],
        ["archive", "Empty", "0", "4", "2", "16", "59s", "2", "0"],
    ]
    problems = {line.split()[2]: line.split()[6:] for line in lines[lines.index("lag:") + 2 :]}
    assert problems == {"0": ["OFFSET_OUT_OF_RANGE"], "1": ["-"], "2": ["no", "commit"], "3": ["LEADER_NOT_AVAILABLE"]}
    (row,) = [one for one in run("lag", "--json", "--warehouse", str(tmp_path)).rows("lag") if one["partition"] == 0]
    assert (row["problem"], row["time_lag_problem"]) == (None, "OFFSET_OUT_OF_RANGE")


def test_share_groups(tmp_path: Path, run: Ask) -> None:
    """They have no age, whatever they have to read; a partition that they have not begun to read is not unknown."""
    share = {"group_type": "share"}
    rows = (
        lag_row("queue", "orders", 0, lag=7, lag_basis="share", records_lost=0, **share),
        lag_row("queue", "orders", 1, lag=0, lag_basis="share", records_lost=0, **share),
        lag_row("queue", "orders", 2, lag_basis="log_start", problem="SHARE_NOT_STARTED", **share),
        lag_row("queue", "payments", 0, problem="SHARE_LAG_NOT_RETURNED", **share),
        lag_row("reader", "orders", 0, lag=3, time_lag_ms=2_000, records_lost=0),
    )
    groups = group("queue", **share), group("reader")
    made = make_lake(tmp_path, (snapshot(1, *groups, *rows, status="complete"),))
    shown = run("lag", "--json", "--sort", "time", "--warehouse", str(made))
    ages = {one["group_id"]: (one["time_lag_ms"], one["unknown_time_partitions"]) for one in shown.rows("group")}
    assert list(ages.items()) == [("reader", (2_000, 0)), ("queue", (None, 0))]
    assert shown.rows("lag")[0]["group_id"] == "reader", "nothing has a greater age"
    limited = run("lag", "--fail-above", "lag=7,time=2s,lost", "--warehouse", str(made))
    assert (limited.code, limited.err) == (3, "lagoon: lag not known of 1 partition, e.g. queue payments-0\n")
    limited = run("lag", "--fail-above", "lag=7,total=7", "--topic", "orders", "--warehouse", str(made))
    assert (limited.code, limited.err) == (0, "")


def test_names_never_steer_a_terminal(ask: Ask) -> None:
    """Control characters in group ids are escaped."""
    assert all(line.isprintable() for line in ask("lag").out.splitlines())


def test_an_older_snapshot(ask: Ask) -> None:
    """--at takes the newest snapshot that had begun by then; a time before the first snapshot is an error."""
    shown = ask("lag", *DEFAULT, "--at", "2025-11-21T13:30", "--json")
    assert [one["lag"] for one in shown.rows("lag")] == [5]
    for time in ("2025-11-21T13:30", "2025-11-21T13:00:00.123"):
        assert ask("lag", *DEFAULT, "--at", time).out.startswith("default: snapshot of 2025-11-21T13:00:00.123Z")
    assert ask("lag", "--at", "2025-01-01").err == (
        "lagoon: there is no published snapshot from before 2025-01-01T00:00:00.000Z\n"
    )
    assert ask("lag", "--cluster", "defualt").err == (
        "lagoon: there is no published snapshot of defualt (did you mean default?): there are default, second\n"
    )


def test_an_age_at_a_time_to_come(ask: Ask) -> None:
    """It is the age now: nobody knows that no snapshot will follow."""
    assert ask("lag", *DEFAULT, "--at", str(NOW_MS + HOUR_MS), "--fail-above", "age=11m").code == 0


@pytest.mark.parametrize(
    ("limits", "complaints"),
    [
        ("lag=1500,total=1509,lost=3,age=11m", []),
        ("lag=1499", ["lag above 1,499: 1 partition, highest 1,500 (billing orders-0)"]),
        ("lag=1k,total=1k", [
            "lag above 1,000: 1 partition, highest 1,500 (billing orders-0)",
            "total above 1,000: 1 group, highest 1,509 (billing)",
        ]),
        ("time=30m", [
            "time above 30m: 1 partition, highest 2h (billing orders-1)",
            f"time not known of 1 partition, e.g. {printable(HOSTILE)} orders-0",
        ]),
        ("lost", ["lost above 0: 1 partition, highest 3 (lost orders-0)"]),
        ("age=10m", ["age above 10m: 1 snapshot, highest 11m (default)"]),
    ],
)  # fmt: skip
def test_a_passed_limit_is_exit_3(ask: Ask, limits: str, complaints: list[str]) -> None:
    """The line names the worst row; a limit is kept only if no value is above it or unknown."""
    shown = ask("lag", *DEFAULT, "--number", "0", "--fail-above", limits)
    assert shown.err.splitlines() == [f"lagoon: {line}" for line in complaints]
    assert shown.code == (3 if complaints else 0)


def test_limits_are_about_all_that_is_chosen(ask: Ask) -> None:
    """Limits apply to all rows that names select, also to rows that --min-lag and -n do not show."""
    assert ask("lag", *DEFAULT, "--min-lag", "5000", "--fail-above", "lag=1000").code == 3
    assert ask("lag", *DEFAULT, "idle", "--fail-above", "lag=1000").code == 0
    assert ask("lag", *DEFAULT, "billing", "--fail-above", "time=2h").code == 0


def test_what_is_not_known_keeps_no_limit(ask: Ask) -> None:
    """Partitions without a leader, and tables that an incomplete snapshot lacks, count as above a limit."""
    shown = ask("lag", "--cluster", "second", "--fail-above", "lag=100,total=100")
    assert shown.code == 3
    assert shown.err.splitlines() == [
        "lagoon: lag not known of 1 partition, e.g. other orders-1",
        "lagoon: total not known of 1 group, e.g. other",
        "lagoon: second: the snapshot is INCOMPLETE, so no limit is known to be kept",
    ]
    assert ask("lag", "--cluster", "second").code == 0


def test_limits_of_several_clusters(ask: Ask) -> None:
    """The line names the cluster of the row, too."""
    assert ask("lag", "--fail-above", "lag=1000").err.splitlines()[:2] == [
        "lagoon: lag above 1,000: 1 partition, highest 1,500 (default billing orders-0)",
        "lagoon: lag not known of 1 partition, e.g. second other orders-1",
    ]


def test_a_named_group_that_is_not_there(ask: Ask) -> None:
    """A line reports it, with exit 3, as in the live verb."""
    shown = ask("lag", *DEFAULT, "billing", "bling")
    assert (shown.code, shown.err) == (3, "lagoon: group bling: not in the snapshot\n")


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        (("--topic", "ordres,orders"), "topic ordres: not in the snapshot"),
        (("--topic", "ordres", "--fail-above", "lag=10k"), "topic ordres: not in the snapshot"),
        (("--pattern", "nomatch.*", "--fail-above", "lag=10k,age=1h"), NOTHING_SELECTED),
        (("idle", "--topic", "payments", "--fail-above", "lag"), NOTHING_SELECTED),
    ],
)
def test_a_selection_that_no_limit_could_miss(ask: Ask, argv: tuple[str, ...], line: str) -> None:
    """A topic that is not there, and groups that are chosen without any row, keep no limit."""
    shown = ask("lag", *DEFAULT, *argv)
    assert (shown.code, shown.err) == (3, f"lagoon: {line}\n")


@pytest.mark.parametrize(
    "argv",
    [
        ("--topic", "new", "--fail-above", "lag=0"),
        ("--topic", "payments", "--fail-above", "lag=0"),
        ("--pattern", "nomatch.*", "--fail-above", "age=1h"),
        ("--pattern", "nomatch.*"),
    ],
)
def test_nothing_to_read_is_no_lag(ask: Ask, argv: tuple[str, ...]) -> None:
    """No group reads topic new, and topic payments, whose commit is known, has been deleted: both are answers."""
    shown = ask("lag", *DEFAULT, *argv)
    assert (shown.code, shown.err) == (0, "")


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        (
            ("--fail-above", "lga=1"),
            "--fail-above: lga (did you mean lag?): there are lag, total, time, lost, age; see",
        ),
        (("--fail-above", "lag=5m"), "--fail-above: lag=5m: '5m' is not a count like 1000, 10k or 2M; see"),
        (("--fail-above", "time=5"), "--fail-above: time=5: '5' is not a duration like 90s, 5m or 2h; see"),
        (
            ("--pattern", "("),
            "--pattern: '(' is not a regular expression: missing ), unterminated subpattern at position 0; see",
        ),
        (("--at", "noon"), "--at: 'noon' is not a time like 2026-11-21T06:00:00Z, 14:05, 2h ago or yesterday, nor"),
        (("--min-lag", "-1"), "--min-lag: '-1' is not a whole number from 0 on; see"),
    ],
)
def test_faults_are_one_line(ask: Ask, argv: tuple[str, ...], line: str) -> None:
    """Exit 2 before a table is opened."""
    shown = ask("lag", *argv)
    assert (shown.code, shown.out) == (2, "")
    assert shown.err.startswith(f"lagoon: {line}")
    assert shown.err.count("\n") == 1


def configured(*names: str) -> list[str]:
    return [word for name in names for word in ("--set", f"clusters.{name}.bootstrap_servers=localhost:1")]


@pytest.mark.parametrize("command", first(["lag", "health", "changes"]))
def test_a_configured_cluster_without_a_snapshot_is_an_answer(ask: Ask, command: str) -> None:
    """It has a line and a row, and passes no limit; clusters of the tables that are not configured stay as they are."""
    of_settings = configured("default", "third")
    shown = ask(command, *of_settings)
    assert shown.code == 0
    assert shown.out.splitlines()[1].startswith("second: snapshot of ")
    assert shown.out.splitlines()[2] == "third: no snapshot yet"
    rows = ask(command, "--json", *of_settings).rows("snapshot")
    assert [(one["cluster"], one["snapshot_id"] is None) for one in rows] == [
        ("default", False),
        ("second", False),
        ("third", True),
    ]
    assert rows[2].keys() == rows[0].keys()
    limited = ask(command, "--fail-above", "age=10w", "--cluster", "default,third", *of_settings)
    assert (limited.code, limited.err) == (3, "lagoon: third: no snapshot yet, so no limit is known to be kept\n")


def test_the_named_cluster_has_no_snapshot(ask: Ask) -> None:
    """Only its line is shown, exit 3; --cluster leaves out the others, and a name that nobody knows is an error."""
    of_settings = configured("default", "third")
    shown = ask("lag", "--cluster", "third", *of_settings)
    assert (shown.code, shown.out, shown.err) == (3, "third: no snapshot yet\n", "lagoon: third: no snapshot yet\n")
    shown = ask("lag", "--cluster", "default", "--fail-above", "age=10w", *of_settings)
    assert shown.code == 0
    shown = ask("lag", "--cluster", "thrid", *of_settings)
    assert (shown.code, shown.out) == (1, "")


def test_no_snapshot_at_a_time(ask: Ask) -> None:
    """A cluster whose first snapshot is younger than --at has none."""
    shown = ask("lag", "--at", str(NOW_MS - 100 * HOUR_MS), *configured("default"))
    assert shown.code == 3
    assert shown.out.startswith("default: no snapshot from before 2025-11-17T")


@pytest.mark.parametrize(
    ("usual", "minutes", "warning"),
    [
        (timedelta(hours=1), 120, ""),
        (timedelta(hours=1), 121, ", LATE: snapshots were usually 1h apart, and none has followed"),
        (timedelta(seconds=5), 4, ""),
        (None, 2 * 24 * 60 - 1, ""),
        (None, 2 * 24 * 60 + 1, ", LATE: it is the only one, and none has followed"),
    ],
)
def test_a_late_snapshot_is_marked(usual: timedelta | None, minutes: int, warning: str) -> None:
    """The newest one by its age now, one that --at chooses by its age then: it is no answer about the time of a gap."""
    taken = datetime(2026, 1, 5, 12, tzinfo=UTC)
    chosen = ChosenSnapshot(
        cluster="prod",
        snapshot_id="s",
        snapshot_date=taken.date(),
        captured_at=taken,
        slot=taken,
        status="complete",
        failures=0,
        completeness=1.0,
        previous_at=usual and taken - 3 * usual,
        interval_ms=usual and round(usual.total_seconds() * 1000),
    )
    now_ms = round((taken + timedelta(minutes=minutes)).timestamp() * 1000)
    assert chosen.line(now_ms, now_ms).partition(" old")[2] == warning
    words = warning.replace("LATE: ", f"LATE: {duration(minutes * 60_000)} old at the time of --at, ")
    then = words.replace("none has followed", "none had followed").replace("only one", "first")
    assert chosen.line(now_ms + HOUR_MS, now_ms).partition(" old")[2] == then
    assert "LATE" not in chosen.line(now_ms + HOUR_MS, round(taken.timestamp() * 1000))


@pytest.mark.parametrize(
    ("hours", "late"),
    [
        ((-30, -29, -28, -27, -14, -11), "snapshots were usually 1h apart, and none has followed"),
        ((-35, -29, -23, -17, -12, -11), "snapshots were usually 6h apart, and none has followed"),
        ((-47, -35, -23, -12, -11), ""),
    ],
    ids=["after-a-gap", "after-a-run-by-hand", "not-yet"],
)
def test_what_is_usual(tmp_path: Path, run: Ask, hours: tuple[int, ...], late: str) -> None:
    """A gap or a run by hand before the newest snapshot changes nothing: the median of the last intervals counts."""
    lake = make_lake(tmp_path, [snapshot(number, group("g"), status="complete") for number in hours])
    line = run("lag", "--warehouse", str(lake)).out.splitlines()[0]
    assert line.partition(" old")[2] == (f", LATE: {late}" if late else "")


def test_a_time_in_a_gap(tmp_path: Path, run: Ask) -> None:
    """The snapshot before it is shown with its age at that time, and one of a cluster without a gap is not late."""
    made = [snapshot(number, group("g"), status="complete") for number in (-9, -8, 2)]
    made += [snapshot(number, group("g"), cluster="second", status="complete") for number in range(-9, 2)]
    at_ms = NOON_MS - 2 * HOUR_MS + 60_000
    shown = run("lag", "--at", str(at_ms), "--warehouse", str(make_lake(tmp_path, made)))
    in_gap, complete = shown.out.splitlines()[:2]
    late = ", LATE: 6h01m old at the time of --at, snapshots were usually 1h apart, and none had followed"
    assert in_gap == f"default: snapshot of 2025-11-21T04:00:00.123Z, 10h11m old{late}"
    assert complete == "second: snapshot of 2025-11-21T10:00:00.123Z, 4h11m old"
    limited = run("lag", "--at", str(at_ms), "--warehouse", str(tmp_path), "--fail-above", "age=6h")
    assert (limited.code, limited.err) == (3, "lagoon: age above 6h: 1 snapshot, highest 6h01m (default)\n")
    assert run("lag", "--at", str(at_ms), "--warehouse", str(tmp_path), "--fail-above", "age=7h").code == 0


@pytest.mark.parametrize(("ahead_s", "code"), [(299, 0), (301, 3)])
def test_a_snapshot_in_the_future(tmp_path: Path, run: Ask, ahead_s: int, code: int) -> None:
    """Its age is not known: it hides the snapshots that follow, so a check of the age must not succeed until its time."""
    ahead = snapshot(2, group("g"), status="complete")
    header = replace(ahead.header, captured_at_ms=NOW_MS + ahead_s * 1_000)
    make_lake(tmp_path, [snapshot(1, group("g"), status="complete"), replace(ahead, header=header)])
    for command in ("lag", "health", "changes"):
        shown = run(command, "--fail-above", "age=1d", "--warehouse", str(tmp_path))
        limited = "lagoon: age not known of 1 snapshot, e.g. default\n" if code else ""
        assert (shown.code, shown.err) == (code, limited)
        assert (", 5m01s AHEAD: " in shown.out.splitlines()[0]) == bool(code)
