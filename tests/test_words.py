"""The check of words finds the listed words, and no others."""

import pytest

from tests.words import LIST, findings, main, vocabulary

WORDS = vocabulary(LIST.read_text(encoding="utf-8"))


def words(text, path="module.py"):
    return [each.words for each in findings(path, text, WORDS)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"""Pays debts."""\n', ["debts"]),
        ("batch_fates = 1\n", ["fates"]),
        ("class PendingLedger: pass\n", ["ledger"]),
        ("STALL_PATIENCE_MS = 1\n", ["patience"]),
        ("# what became\n# of a batch\n", ["became of"]),
        ("# what it was; of a batch it became\n", []),
        ("ways_in = {}\n", ["ways in"]),
        ("Fatema = refate = 1\n", []),
        ('"""Bytes in, rows out: fast."""\n', ["... in, ... out"]),
        ('"""Reads bytes in order, until it runs out of them."""\n', []),
        ("my_turn = question_of(1)\n", ["my_turn", "question_of"]),
        ("# it is her turn, without a question\n", []),
        ("found = 1\n", ["found"]),
        ("def row(told_at, asked): ...\n", ["asked", "told"]),
        ("for one in rows: pass\n", ["one"]),
        ("names = [one.name for one in rows]\n", []),
        ("for batch in found_batches: pass\n", []),
        ("debts = 1  # words: ok, a stored name\n", []),
        ("# debts; words: ok\ndebts = 1\n", ["debts"]),
    ],
)
def test_words_are_found(text, expected):
    """Words are found in prose and names, in phrases across lines, at the beginning of a module, and where a name is bound."""
    assert words(text) == expected


def test_other_files_and_file_names():
    """SQL and prose have no Python names; a path consists of words, too."""
    assert words("SELECT found FROM ledger -- a debt", "view.sql") == ["debt", "ledger"]
    assert words("", "pipeline/next_ledger.py") == ["ledger"]


def test_every_place_names_itself_and_what_to_say(capsys):
    """Each finding is one line, which an editor can jump to; the list of words itself has none."""
    places = findings("a.md", "x\nhis ledger\n", WORDS)
    assert [str(place) for place in places] == ["a.md:2: `ledger`: next offsets"]
    assert main(["tests/test_words.py", "tests/words.txt"]) == 0
    assert capsys.readouterr().out == ""
