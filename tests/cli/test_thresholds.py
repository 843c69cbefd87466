"""The grammar of `--fail-above`, and the lines about limits."""

import argparse

import pytest

from kafka_lagoon.cli.thresholds import Measured, Threshold, Unit, add_fail_above, left_out, lines_of

KNOWN = {"lag": (Unit.COUNT, "records"), "time": (Unit.DURATION, "an age")}


def parsed(*argv: str) -> list[Threshold]:
    parser = argparse.ArgumentParser(exit_on_error=False)
    add_fail_above(parser, KNOWN)
    limits: list[Threshold] = parser.parse_args(argv).fail_above
    return limits


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("lag=0", 0),
        ("lag", 0),
        ("lag=1000", 1000),
        ("lag=10k", 10_000),
        ("lag=2M", 2_000_000),
        ("lag=1G", 10**9),
        ("time=250ms", 250),
        ("time=1.5h", 5_400_000),
        ("time=90s", 90_000),
        ("time=5m", 300_000),
        ("time=2d", 172_800_000),
        ("time=1w", 604_800_000),
        ("time=0", 0),
    ],
)
def test_limits(text: str, limit: int) -> None:
    """Counts can have k, M, G; durations have a unit, except 0; a name alone is 0."""
    (threshold,) = parsed("--fail-above", text)
    assert (threshold.name, threshold.limit) == (text.partition("=")[0], limit)


def test_limits_of_another_command() -> None:
    """The error line has the command that knows the limit, with the limit as it was given; --help names it, too."""
    parser = argparse.ArgumentParser(exit_on_error=False)
    add_fail_above(parser, KNOWN, {"lag": "lagoon lag", "lost": "lagoon lag"})
    with pytest.raises(
        argparse.ArgumentError, match=r"lost: is a limit of another command: lagoon lag --fail-above lost=5$"
    ):
        parser.parse_args(["--fail-above", "lost=5"])
    assert " ".join(parser.format_help().split()).endswith("time: an age. Limits on lost: see lagoon lag")
    assert parser.parse_args(["--fail-above", "lag=5"]).fail_above == [Threshold("lag", 5)]


def test_several_limits() -> None:
    """Separated by commas, or as several options."""
    assert [one.name for one in parsed("--fail-above", "lag=1, time=5m", "--fail-above", "lag=7")] == [
        "lag",
        "time",
        "lag",
    ]
    assert parsed() == []


@pytest.mark.parametrize(
    "text",
    [
        *("lag=-1", "lag=1.5", "lag=", "lag=5m", "lag=1 k", "time=5", "time=m", "time=1y", "x=1", "=1", "", " ,"),
        *("lag=٣", "time=٣s", "lag=" + "9" * 5000, f"time={'9' * 400}s", f"time=1.{'9' * 5000}s"),
    ],
)
def test_what_is_no_limit(text: str) -> None:
    """Faulty limits are refused, because a misread limit might never fail."""
    with pytest.raises(argparse.ArgumentError):
        parsed("--fail-above", text)


def test_lines() -> None:
    """The line of a passed limit names the highest value and its place; unknown values have their own line."""
    lag = Threshold("lag", 10_000)
    assert list(lines_of(lag, Measured(highest=9), "partitions")) == []
    measured = Measured(above=2, highest=20_000, where="g t-1\x1b", unknown=1, unknown_where="h t-0")
    assert list(lines_of(lag, measured, "partitions")) == [
        r"lag above 10,000: 2 partitions, highest 20,000 (g t-1\u001b)",
        "lag not known of 1 partition, e.g. h t-0",
    ]
    time = Threshold("time", 300_000, Unit.DURATION)
    assert list(lines_of(time, Measured(above=1, highest=312_000), "partitions")) == [
        "time above 5m: 1 partition, highest 5m12s"
    ]


def test_groups_that_limits_leave_out() -> None:
    """A line names up to ten of them and the limits on lag; limits on losses leave out none."""
    limits = [Threshold("time", 1, Unit.DURATION), Threshold("lost", 0), Threshold("lag", 1), Threshold("lag", 2)]
    assert left_out(["a\x1b"], limits) == [r"1 group is expected to be stopped and left out of time, lag: a\u001b"]
    (line,) = left_out([f"g{number:02}" for number in range(12)], limits[2:3])
    assert line.startswith("12 groups are expected to be stopped and left out of lag: g00, g01, ")
    assert line.endswith(", g09 and 2 more")
    assert left_out(["a"], limits[1:2]) == left_out([], limits) == ()
