"""Rows of SCRAM users, from messages made by hand."""

from kafka_lagoon.snapshot.scram_users import scram_user_rows
from kafka_lagoon.tables.security_rows import ScramUserRow
from tests.security_samples import scram_user

UNACCEPTABLE_CREDENTIAL = 93


def test_every_credential_is_a_row() -> None:
    """Rows are ordered by user and mechanism; an unknown mechanism keeps its number."""
    assert list(scram_user_rows([scram_user("b", 2, 1), scram_user("a", 9)])) == [
        ScramUserRow(user="a", mechanism="UNKNOWN_9", iterations=36864, problem=None),
        ScramUserRow(user="b", mechanism="SCRAM-SHA-256", iterations=4096, problem=None),
        ScramUserRow(user="b", mechanism="SCRAM-SHA-512", iterations=8192, problem=None),
    ]


def test_a_user_with_an_error_says_so() -> None:
    """The user has a row with the error."""
    assert list(scram_user_rows([scram_user("a", error_code=UNACCEPTABLE_CREDENTIAL)])) == [
        ScramUserRow(user="a", mechanism=None, iterations=None, problem="UNACCEPTABLE_CREDENTIAL")
    ]
