"""The judge on made-up topics of the sink: it accepts what the sink promises, and names each kind of violation."""

import pytest

from tests.proof.evidence import Sunk
from tests.proof.sunk import judge_sunk

ROWS = frozenset("abcd")


def kinds(seen: str, exit_code: int, transactions: str = "task") -> list[str]:
    topic = Sunk(name="t", transactions=transactions, rows=ROWS, seen=list(seen), exit_code=exit_code)
    return [finding.kind for finding in judge_sunk((topic,))]


@pytest.mark.parametrize("transactions", ["none", "task", "run"])
def test_exit_0(transactions: str) -> None:
    """Every row is there once, and no other."""
    assert kinds("dcba", 0, transactions) == []
    assert kinds("abcdd", 0, transactions) == ["doubled"]
    assert kinds("abcde", 0, transactions) == ["altered"]
    assert "lost" in kinds("abc", 0, transactions)
    assert kinds("", 0, transactions) == ["lost"]


def test_jobs_that_failed() -> None:
    """Readers of committed records see nothing of them; without transactions written rows stay, each once."""
    assert kinds("", 1) == kinds("", 1, "run") == kinds("ab", 1, "none") == []
    assert kinds("ab", 1) == kinds("abcd", 1, "run") == ["altered"]
    assert kinds("aab", 1, "none") == ["doubled"]


def test_jobs_that_were_killed() -> None:
    """Tasks of a batch may be committed or not; the one transaction of a run is there or not."""
    assert kinds("ab", -9) == kinds("ab", -9, "none") == kinds("abcd", -9, "run") == kinds("", -9, "run") == []
    assert kinds("ab", -9, "run") == ["silent"]
    assert kinds("aab", -9) == ["doubled"]
