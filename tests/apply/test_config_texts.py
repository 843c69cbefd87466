import pytest

from kafka_lagoon.apply.config_texts import is_same, type_fault

BOOLEAN, STRING, INT, SHORT, LONG, DOUBLE, LIST, CLASS, PASSWORD = range(1, 10)


@pytest.mark.parametrize(
    ("name", "config_type", "live", "wanted", "same"),
    [
        ("retention.ms", LONG, "86400000", "86400000", True),
        ("retention.ms", LONG, "86400000", "086400000", True),
        ("retention.ms", LONG, "86400000", "86400001", False),
        ("min.cleanable.dirty.ratio", DOUBLE, "0.5", "0.50", True),
        ("unclean.leader.election.enable", BOOLEAN, "true", "True", True),
        ("cleanup.policy", LIST, "compact,delete", "delete, compact", True),
        ("cleanup.policy", LIST, "compact,delete", "compact", False),
        ("ssl.cipher.suites", LIST, "a,b", "b,a", False),
        ("ssl.cipher.suites", LIST, "a,b", "a, b", True),
        ("compression.type", STRING, "zstd", "ZSTD", False),
        ("compression.type", STRING, "gzip", " gzip ", True),
        ("some.class", CLASS, "a.B", "a.B ", True),
        ("compression.type", 0, "gzip", "gzip ", False),
        ("retention.ms", LONG, None, "1", False),
        ("retention.ms", LONG, None, None, True),
        ("retention.ms", 0, "1", "01", False),
        ("retention.ms", LONG, "1 d", "1 d", True),
    ],
)
def test_values_that_mean_the_same(name: str, config_type: int, live: str, wanted: str, same: bool) -> None:
    """Numbers, booleans, and unordered lists are compared by value; other text is compared without blanks around it."""
    assert is_same(name, config_type, live, wanted) is same


@pytest.mark.parametrize(
    ("config_type", "text", "fault"),
    [
        (LONG, "86400000", None),
        (LONG, "-1", None),
        (LONG, "1 d", "must be a whole number (LONG)"),
        (LONG, str(2**63), "must be a whole number (LONG)"),
        (INT, str(2**31), "must be a whole number (INT)"),
        (LONG, "9" * 5000, "must be a whole number (LONG)"),
        (BOOLEAN, "yes", "must be true or false"),
        (DOUBLE, "half", "must be a number"),
        (DOUBLE, " -.5E+1 ", None),
        (DOUBLE, "1_0", "must be a number"),  # as Python writes it, and not Java
        (DOUBLE, "inf", "must be a number"),
        (STRING, "anything", None),
        (0, "1 d", None),
    ],
)
def test_what_is_no_value_of_a_type(config_type: int, text: str, fault: str | None) -> None:
    """Values are not checked if the broker does not return the type (before Kafka 2.6)."""
    assert type_fault(config_type, text) == fault
