"""The text format, read back by Prometheus' Python client."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_lagoon.metrics.exposition import Metric, Sample, exposition
from tests.delta.samples import HOSTILE
from tests.metrics.parsed import parsed, value

LAG = Metric("lagoon_group_lag", "Records that are not read.", ("kafka_cluster", "group"))


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_name_is_a_label(name: str) -> None:
    """Names come from clusters: quotes, backslashes, line ends and all other characters are read unchanged."""
    samples = parsed(exposition([Sample(LAG, ("c", name), 1)]))
    assert list(samples) == [("lagoon_group_lag", frozenset({("kafka_cluster", "c"), ("group", name)}))]


def test_bytes_that_are_no_text_are_spelled_out() -> None:
    """They are escaped as in the tables, so that a label can be looked up there."""
    samples = parsed(exposition([Sample(LAG, ("c", "a\udcff"), 1)]))
    assert value(samples, "lagoon_group_lag", kafka_cluster="c", group=r"a\xff") == 1


@pytest.mark.parametrize(
    ("number", "spelled"),
    [
        (0, "0"),
        (True, "1"),
        (-3, "-3"),
        (2**63 - 1, "9223372036854775807"),
        (2.0, "2"),
        (1763726400.123, "1763726400.123"),
    ],
)
def test_numbers_are_exact(number: float, spelled: str) -> None:
    """No exponent hides digits."""
    assert exposition([Sample(LAG, ("c", "g"), number)]).splitlines()[-1].rpartition(" ")[2] == spelled


def test_samples_of_a_metric_stand_together() -> None:
    """There is one HELP and one TYPE each, for samples in any order."""
    other = Metric("lagoon_other", "Other.")
    text = exposition([Sample(LAG, ("c", "a"), 1), Sample(other, (), 5), Sample(LAG, ("c", HOSTILE), 2)])
    assert [line.split()[2] for line in text.splitlines() if line[0] == "#"] == [LAG.name] * 2 + [other.name] * 2
    assert len(parsed(text)) == 3


def test_a_label_without_a_value_is_left_out() -> None:
    """A run of `lagoon maintain` has no cluster."""
    assert exposition([Sample(LAG, (None, "g"), 1)]).splitlines()[-1] == 'lagoon_group_lag{group="g"} 1'
