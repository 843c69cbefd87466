"""The groups with metrics, and the effect of unknown values on them."""

import pytest

from kafka_lagoon.group_lag import GroupLag
from kafka_lagoon.metrics.exposition import exposition
from kafka_lagoon.metrics.groups import GroupFacts, group_facts, group_samples
from kafka_lagoon.tables.cluster_rows import ConfigRow
from kafka_lagoon.tables.group_rows import ConsumerGroupRow
from kafka_lagoon.tables.owner_rows import ExpectedGroupRow, OwnerRow
from tests.delta.samples import HOSTILE, NOON_MS, lag_row, row, snapshot
from tests.metrics.parsed import parsed, value


def config(topic: str, name: str, text: str) -> ConfigRow:
    return row(ConfigRow, resource_type="topic", resource_name=topic, name=name, value=text)


def test_sums_are_over_what_is_known() -> None:
    """Unknown lag is counted and is not 0; a group without a commit is not unknown."""
    made = snapshot(
        1,
        row(ConsumerGroupRow, group_id="empty"),
        lag_row("g", "t", 0, lag=5, time_lag_ms=2_000, records_lost=0),
        lag_row("g", "t", 1, problem="LEADER_NOT_AVAILABLE"),
        lag_row("g", "t", 2, lag_basis="log_start"),
        lag_row("g", "t", 3, lag=-7, time_lag_ms=0),
        lag_row("g", "t", 4, lag_basis="log_start"),
    )
    lags = group_facts(made)
    assert lags["empty"].sums == GroupLag()
    assert lags["g"].sums == GroupLag(
        lag=-2,
        highest_lag=5,
        time_lag_ms=2_000,
        partitions=5,
        unknown_lags=1,
        unknown_time_partitions=1,
        known_partitions=2,
        records_lost=0,
    )
    assert lags["g"].sums.known_time_lag_ms() == 2_000, "at least that old"


def test_losses_of_several_partitions() -> None:
    """They are added up, and one that is unknown takes nothing away."""
    lost = (lag_row("g", "t", number, lag=1, records_lost=some) for number, some in enumerate((3, None, 4)))
    assert group_facts(snapshot(1, *lost))["g"].sums.records_lost == 7


def test_sums_are_cut_as_in_the_tables() -> None:
    """Commits of 2^63-1 in several partitions give the sum that `lagoon metrics` reads; a later partition counts, too."""
    greatest = 2**63 - 1
    rows = [lag_row("g", "t", number, lag=-greatest, records_lost=greatest) for number in (0, 1)]
    rows += [lag_row("h", "t", number, lag=lag) for number, lag in enumerate((greatest, greatest, -greatest, -5))]
    lags = group_facts(snapshot(1, *rows))
    assert (lags["g"].sums.lag, lags["g"].sums.records_lost) == (-greatest, greatest)
    assert lags["h"].sums.lag == greatest - 5


def test_an_age_of_zero_is_not_said_of_a_group_with_an_unknown_one() -> None:
    """The record of another partition may be days old."""
    made = snapshot(1, lag_row("g", "t", 0, lag=0), lag_row("g", "t", 1, lag=3), lag_row("h", "t", 0, lag=0))
    lags = group_facts(made)
    assert lags["g"].sums.known_time_lag_ms() is None
    assert lags["h"].sums.known_time_lag_ms() == 0


def test_a_share_group_has_no_age() -> None:
    """An age of 0 would say that it has nothing to read. A partition that it has not begun to read is not unknown."""
    share = {"group_type": "share"}
    read = lag_row("g", "t", 0, lag=0, lag_basis="share", **share)
    unread = lag_row("g", "t", 1, lag=3, lag_basis="share", **share)
    idle = lag_row("g", "t", 2, lag_basis="log_start", problem="SHARE_NOT_STARTED", **share)
    not_counted = lag_row("g", "t", 3, problem="SHARE_LAG_NOT_RETURNED", **share)
    facts = group_facts(snapshot(1, read, unread, idle, not_counted))
    sums = facts["g"].sums
    assert (sums.lag, sums.unknown_lags, sums.time_lag_ms, sums.unknown_time_partitions) == (3, 1, None, 0)
    samples = parsed(exposition(group_samples("c", facts, 1, NOON_MS)))
    assert value(samples, "lagoon_group_time_lag_seconds", kafka_cluster="c", group="g") is None


def test_an_age_below_zero() -> None:
    """A producer's clock is ahead: the age is kept, as in SQL, and is not said of a group with an unknown age."""
    ahead = lag_row("g", "t", 0, lag=3, time_lag_ms=-60_000)
    (group,) = group_facts(snapshot(1, ahead)).values()
    assert group.sums.known_time_lag_ms() == -60_000
    (group,) = group_facts(snapshot(1, ahead, lag_row("g", "t", 1, lag=3))).values()
    assert group.sums.known_time_lag_ms() is None


@pytest.mark.parametrize(
    ("configs", "expected"),
    [
        ({"retention.ms": "1000", "cleanup.policy": "delete"}, NOON_MS + 1000),
        ({"retention.ms": "1000", "cleanup.policy": "compact,delete"}, NOON_MS + 1000),
        ({"retention.ms": "1000", "cleanup.policy": "compact"}, None),
        ({"retention.ms": "0", "cleanup.policy": "delete"}, NOON_MS),
        ({"retention.ms": "-1", "cleanup.policy": "delete"}, None),
        ({"retention.ms": str(10**13), "cleanup.policy": "delete"}, NOON_MS + 10**13),
        ({"retention.ms": str(10**13 + 1), "cleanup.policy": "delete"}, None),
        ({"retention.ms": str(2**63 - 1), "cleanup.policy": "delete"}, None),
        ({}, None),
    ],
)
def test_when_the_first_unread_record_expires(configs: dict[str, str], expected: int | None) -> None:
    """By retention.ms of topics with policy delete; of a group's partitions the earliest."""
    made = snapshot(
        1,
        *(config("t", name, text) for name, text in configs.items()),
        lag_row("g", "t", 0, lag=1, first_unread_timestamp_ms=NOON_MS),
        lag_row("g", "t", 1, lag=1, first_unread_timestamp_ms=NOON_MS + 5),
        lag_row("g", "t", 2, lag=1),
        lag_row("g", "t", 3, lag=0, first_unread_timestamp_ms=1),
        lag_row("g", "other", 0, lag=1, first_unread_timestamp_ms=1),
        lag_row("g", "t", 4, lag=1, lag_basis="share", first_unread_timestamp_ms=1),
        row(ConfigRow, resource_type="group", resource_name="other", name="retention.ms", value="1000"),
        row(ConfigRow, resource_type="group", resource_name="other", name="cleanup.policy", value="delete"),
    )
    assert group_facts(made)["g"].expires_ms == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"log_start_offset": 3, "high_watermark": 10}, NOON_MS + 1000),
        ({"log_start_offset": 10, "high_watermark": 10}, None),
        ({"log_start_offset": None, "high_watermark": 10}, NOON_MS + 1000),
        ({"first_unread_timestamp_ms": 10**14}, 10**14 + 1000),
        ({"first_unread_timestamp_ms": 10**14 + 1}, None),
        ({"first_unread_timestamp_ms": 0}, 1000),
        ({"first_unread_timestamp_ms": -1}, None),
    ],
)
def test_what_expires_as_in_view_loss_ahead(values: dict[str, int | None], expected: int | None) -> None:
    """If all was deleted when the log was looked at, a record that came since then is not one that expires."""
    configs = [config("t", name, text) for name, text in (("retention.ms", "1000"), ("cleanup.policy", "delete"))]
    given = {"lag": 5, "committed_offset": 5, "first_unread_timestamp_ms": NOON_MS, **values}
    taken = snapshot(1, *configs, lag_row("g", "t", 0, **given))
    assert group_facts(taken)["g"].expires_ms == expected


def test_the_worst_groups_have_metrics() -> None:
    """First groups that lost records, then those with the largest lag, unknown before 0; the others are only counted."""
    lags = {
        "small": GroupFacts(GroupLag(lag=1)),
        "none": GroupFacts(GroupLag(lag=0)),
        "unknown": GroupFacts(GroupLag()),
        "lost": GroupFacts(GroupLag(lag=0, records_lost=1)),
        HOSTILE: GroupFacts(GroupLag(lag=9)),
    }
    for limit, expected in enumerate(["", "lost", HOSTILE, "small", "unknown", "none", None]):
        samples = parsed(exposition(group_samples("c", lags, limit, NOON_MS)))
        groups = [dict(labels)["group"] for name, labels in samples if name == "lagoon_group_partitions"]
        assert len(groups) == min(limit, 5)
        assert not groups or expected is None or groups[-1] == expected
        assert value(samples, "lagoon_snapshot_left_out_groups", kafka_cluster="c") == max(0, 5 - limit)


def test_a_group_that_soon_loses_records_has_metrics_however_few_they_are() -> None:
    """Of hundreds of groups with a large lag and days to read it, those with three old records were left out of the alert."""
    hour = 3_600_000
    facts = {f"busy {n}": GroupFacts(GroupLag(lag=10**6), expires_ms=NOON_MS + 48 * hour) for n in range(200)}
    facts["late"] = GroupFacts(GroupLag(lag=3), expires_ms=NOON_MS - hour)
    facts["soon"] = GroupFacts(GroupLag(lag=4), expires_ms=NOON_MS + 5 * hour)
    facts["lost"] = GroupFacts(GroupLag(lag=0, records_lost=1))
    facts["largest"] = GroupFacts(GroupLag(lag=10**8), expires_ms=NOON_MS + 48 * hour)
    facts["large"] = GroupFacts(GroupLag(lag=10**7))
    samples = parsed(exposition(group_samples("c", facts, 5, NOON_MS)))
    groups = [dict(labels)["group"] for name, labels in samples if name == "lagoon_group_partitions"]
    assert groups == ["lost", "late", "soon", "largest", "large"]


@pytest.mark.parametrize("should_run", [True, False])
def test_each_value_has_a_sample(should_run: bool) -> None:
    """Times are in seconds, and a group that the settings expect to be stopped has 1."""
    made = snapshot(
        1,
        lag_row("g", "t", 0, lag=5, time_lag_ms=2_500, records_lost=7, first_unread_timestamp_ms=NOON_MS),
        lag_row("g", "t", 1, lag=4, time_lag_ms=1_000, records_lost=0),
        lag_row("g", "t", 2, problem="LEADER_NOT_AVAILABLE"),
        *(config("t", name, text) for name, text in (("retention.ms", "1500"), ("cleanup.policy", "delete"))),
        *(row(OwnerRow, entity_type=kind, name="g", owner=f"{kind} team", pattern="g") for kind in ("group", "topic")),
        row(ExpectedGroupRow, group_id="g", should_run=should_run, hours="08:00-17:00", pattern="g"),
    )
    samples = parsed(exposition(group_samples("c", group_facts(made), 1, NOON_MS)))
    values = {name: value(samples, name, kafka_cluster="c", group="g") for name, labels in samples if len(labels) == 2}
    assert values == {
        "lagoon_group_lag": 9,
        "lagoon_group_highest_partition_lag": 5,
        "lagoon_group_time_lag_seconds": 2.5,
        "lagoon_group_partitions": 3,
        "lagoon_group_unknown_lag_partitions": 1,
        "lagoon_group_lost_records": 7,
        "lagoon_group_expiry_timestamp_seconds": NOON_MS / 1000 + 1.5,
        "lagoon_group_expected": 0 if should_run else 1,
    }
    assert value(samples, "lagoon_group_info", kafka_cluster="c", group="g", owner="group team") == 1


def test_what_is_unknown_has_no_sample() -> None:
    """A chart has a gap then, not a zero."""
    facts = {"g": GroupFacts(GroupLag(partitions=2, unknown_lags=2))}
    samples = parsed(exposition(group_samples("c", facts, 5, NOON_MS)))
    assert {name for name, labels in samples if ("group", "g") in labels} == {
        "lagoon_group_partitions",
        "lagoon_group_unknown_lag_partitions",
    }
