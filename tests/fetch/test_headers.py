"""What batch headers are believed."""

from pipeline.fetch.headers import believable, first_base, terms
from pipeline.records.batches import Batches, scan
from tests.fake.batches import batch


def scanned(*bounds: tuple[int, int, int]) -> Batches:
    """Batches of (base offset, last offset delta, term)."""
    made = [batch(base, [b"v"], last_delta=delta, leader_epoch=term) for base, delta, term in bounds]
    return scan(b"".join(one.data for one in made))


def test_batches_that_follow_each_other() -> None:
    """Gaps are fine; everything up to the high watermark is believed."""
    assert believable(scanned((0, 3, 0), (9, 0, 0), (10, 4, 0)), 15) == 15
    assert believable(scanned(), 15) == -1


def test_batches_that_cannot_be() -> None:
    """An offset that goes back, or beyond the high watermark, ends what is believed."""
    assert believable(scanned((3, 0, 0), (3, 0, 0), (10, 4, 0)), 15) == 4
    assert believable(scanned((0, 3, 0), (4, 11, 0)), 15) == 4
    assert believable(scanned((20, 3, 0)), 15) == -1
    assert believable(scanned((0, 3, 0), (2**63 - 1, 0, 0)), 15) == 4


def test_a_header_that_contradicts_itself() -> None:
    """How far such a batch reaches only the next one tells, which is for the decoder to say."""
    assert believable(scanned((0, 3, 0), (4, -5, 0), (8, 0, 0)), 15) == 9
    assert believable(scanned((0, 3, 0), (4, 99, 0), (8, 0, 0)), 15) == 9


def test_terms() -> None:
    """Each term with the first offset of the range in it, up to the range's end."""
    batches = scanned((0, 3, 1), (4, 3, 1), (10, 3, 4), (14, 3, 6))
    assert terms(batches, 2, 18) == [(1, 2), (4, 10), (6, 14)]
    assert terms(batches, 2, 14) == [(1, 2), (4, 10)]
    assert terms(scanned(), 2, 14) == []


def test_the_first_base() -> None:
    """Where the first batch begins."""
    assert first_base(scanned((7, 3, 0), (11, 0, 0))) == 7
    assert first_base(scanned()) is None
