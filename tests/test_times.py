"""Times as people spell them."""

from datetime import UTC, date, datetime

import pytest

from kafka_lagoon.cli.ingest import ingest_arguments
from kafka_lagoon.cli.main import options_of
from kafka_lagoon.cli.snapshot import snapshot_arguments
from kafka_lagoon.cli.terminal import UsageError
from kafka_lagoon.clock import Clock
from kafka_lagoon.fetch.offset_specs import AtTime
from kafka_lagoon.times import parse_time_ms, utc_day

NOW_MS = round(datetime(2026, 11, 21, 14, 30, 15, 250_000, tzinfo=UTC).timestamp() * 1000)
CLOCK = Clock(now_ms=lambda: NOW_MS, monotonic=lambda: 0.0, sleep=lambda _: None)


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("2026-11-21T06:00:00Z", "2026-11-21T06:00:00.000"),
        ("2026-11-21T06:00", "2026-11-21T06:00:00.000"),
        ("2026-11-21 06:00:00.5", "2026-11-21T06:00:00.500"),
        ("2026-11-21", "2026-11-21T00:00:00.000"),
        ("2026-11-21T06:00+02:00", "2026-11-21T04:00:00.000"),
        ("2026-11-21T06:00:00-05:30", "2026-11-21T11:30:00.000"),
        ("now", "2026-11-21T14:30:15.250"),
        ("today", "2026-11-21T00:00:00.000"),
        ("yesterday", "2026-11-20T00:00:00.000"),
        (" Yesterday ", "2026-11-20T00:00:00.000"),
        ("14:30", "2026-11-21T14:30:00.000"),
        ("14:31", "2026-11-20T14:31:00.000"),
        ("9:05", "2026-11-21T09:05:00.000"),
        ("00:00", "2026-11-21T00:00:00.000"),
        ("90s ago", "2026-11-21T14:28:45.250"),
        ("5 minutes ago", "2026-11-21T14:25:15.250"),
        ("2h ago", "2026-11-21T12:30:15.250"),
        ("1 hour ago", "2026-11-21T13:30:15.250"),
        ("3d ago", "2026-11-18T14:30:15.250"),
        ("1 week ago", "2026-11-14T14:30:15.250"),
    ],
)
def test_a_time_is_in_utc_or_relative_to_now(text: str, utc: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every spelling means the same on machines in any time zone; a zone in the text is used."""
    monkeypatch.setenv("TZ", "America/New_York")
    printed = datetime.fromtimestamp(parse_time_ms(text, NOW_MS) / 1000, UTC)
    assert printed.replace(tzinfo=None).isoformat(timespec="milliseconds") == utc


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "2h",
        "2 fortnights ago",
        "-2h ago",
        "ago",
        "2026-13-01",
        "24:00",
        "14:60",
        "14:5",
        "14",
        "\u0661h ago",
    ],
)
def test_what_is_no_time_is_refused_with_examples(text: str) -> None:
    """The error repeats the text, and lists the valid spellings."""
    with pytest.raises(ValueError, match=r"is not a time like 2026-11-21T06:00:00Z, 14:05, 2h ago or yesterday"):
        parse_time_ms(text, NOW_MS)


@pytest.mark.parametrize("text", ["999999999w ago", "102800w ago", "0001-01-01T00:00+02:00", "9999-12-31T23:59-02:00"])
def test_times_outside_of_the_calendar_are_refused(text: str) -> None:
    """Neither Python nor the tables have years before 1 or after 9999."""
    with pytest.raises(ValueError, match=r"^'.*' is outside of the years 1 to 9999$"):
        parse_time_ms(text, NOW_MS)


@pytest.mark.parametrize("text", ["9" * 20, "-62135596800001", "253402300800000", "999999999w ago"])
@pytest.mark.parametrize("command", ["lag", "changes", "health", "kafka offsets"])
def test_far_times_are_usage_errors(command: str, text: str) -> None:
    """The line names the option and the text, before anything is read."""
    with pytest.raises(UsageError, match=f"--at: '{text}' is outside of the years 1 to 9999; see"):
        options_of(command, [f"--at={text}"])


def test_a_day_is_that_of_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its first and its last millisecond, on machines in any time zone."""
    monkeypatch.setenv("TZ", "America/New_York")
    midnight = parse_time_ms("today", NOW_MS)
    assert [utc_day(midnight - 1), utc_day(midnight)] == [date(2026, 11, 20), date(2026, 11, 21)]


def test_the_ends_of_the_calendar() -> None:
    """The first and the last millisecond can be shown; thousands of digits are a usage error."""
    for text in ("-62135596800000", "253402300799999"):
        assert datetime.fromtimestamp(options_of("lag", [f"--at={text}"]).at.at_ms(NOW_MS) / 1000, UTC)
    assert parse_time_ms("102000w ago", NOW_MS) < 0
    with pytest.raises(UsageError, match="is outside of the years 1 to 9999"):
        options_of("lag", ["--at", "1" * 5000])


def test_every_option_that_takes_a_time_takes_these() -> None:
    """--slot, --from, --until and --at have one parser."""
    given = {"LAGOON_WAREHOUSE": "w", "LAGOON_CREATE": "true", "LAGOON_KAFKA__BOOTSTRAP_SERVERS": "localhost:9"}
    assert snapshot_arguments(options_of("snapshot", ["--slot", "30m ago"]), given, CLOCK).slot_ms == NOW_MS - 1_800_000
    options = options_of("ingest", ["--topics", "a", "--from", "yesterday", "--until", "2h ago"])
    wanted = ingest_arguments(options, given, CLOCK).spec
    midnight_ms = parse_time_ms("2026-11-20", NOW_MS)
    assert (wanted.start.default, wanted.end.default) == (AtTime(midnight_ms), AtTime(NOW_MS - 7_200_000))
    for text in ("yesterday", "2026-11-20T02:00+02:00", str(midnight_ms)):
        assert options_of("kafka offsets", ["--at", text, "-b", "localhost:9"]).at.at_ms(NOW_MS) == midnight_ms


@pytest.mark.parametrize(
    "command", [["snapshot"], ["ingest"], ["kafka", "offsets"], ["kafka", "fetch"], ["kafka", "produce"]]
)
def test_help_says_so(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """--help says that times are in UTC, and lists the other spellings."""
    from kafka_lagoon.cli.main import main  # noqa: PLC0415

    with pytest.raises(SystemExit):
        main([*command, "--help"])
    printed = " ".join(capsys.readouterr().out.split())
    assert "UTC without a zone; 14:05; 2h ago; yesterday" in printed
