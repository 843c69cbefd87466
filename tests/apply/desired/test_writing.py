from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_lagoon.apply.desired.reading import toml_document
from kafka_lagoon.apply.desired.writing import toml_text, yaml_text
from kafka_lagoon.apply.desired.yaml_document import yaml_document

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    [
        "no",
        "010",
        "1:30",
        "true",
        "~",
        "1.5e5",
        "",
        "- x",
        "# y",
        "a: b",
        "<default>",
        "\x7f\x85\u2028\ufeff\u202e\U000e0001",
        '"\\',
    ]
)
KEYS = TEXTS.filter(bool)
PLAIN = TEXTS | st.integers(-(2**63), 2**63 - 1) | st.booleans() | st.floats(0.001, 10**6).map(lambda x: round(x, 3))
VALUES = PLAIN | st.lists(PLAIN, max_size=3) | st.lists(st.lists(st.integers(0, 9), max_size=3), max_size=3)
TABLES = st.dictionaries(KEYS, VALUES, min_size=1, max_size=4)
STATES = st.dictionaries(
    KEYS, VALUES | TABLES | st.dictionaries(KEYS, TABLES, min_size=1, max_size=3) | st.lists(TABLES, min_size=1, max_size=3), max_size=5
)  # fmt: skip


@given(STATES)
def test_what_is_written_reads_back(state: dict[str, Any]) -> None:
    """The same values, whatever names and texts are in them, in both formats."""
    notes = ["a note\nof two lines \x85"]
    assert toml_document("x", toml_text(state, notes)).data == state
    assert yaml_document("x", yaml_text(state, notes)).data == state


def test_how_it_looks() -> None:
    """Readable, and with the comments first."""
    state = {
        "cluster_id": "x",
        "topics": {"a.b": {"partitions": 1, "configs": {"retention.ms": "1"}}},
        "acls": [{"host": "*"}],
    }
    assert toml_text(state, ["about"]).splitlines() == [
        "# about",
        'cluster_id = "x"',
        "",
        '[topics."a.b"]',
        "partitions = 1",
        "",
        '[topics."a.b".configs]',
        '"retention.ms" = "1"',
        "",
        "[[acls]]",
        'host = "*"',
    ]
    assert yaml_text(state).splitlines() == [
        'cluster_id: "x"',
        "topics:",
        "  a.b:",
        "    partitions: 1",
        "    configs:",
        '      retention.ms: "1"',
        "acls:",
        '- host: "*"',
    ]


@pytest.mark.parametrize("write", [toml_text, yaml_text])
def test_an_empty_state_is_an_empty_file(write: Any) -> None:
    assert write({}).strip() == ""
