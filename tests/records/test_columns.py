"""The fast decoder against the slow one, and what only the fast one has: limits, columns, several Arrow batches."""

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.records.batches import scan
from pipeline.records.columns import Decoding, decode
from pipeline.records.decoding import DecodeOptions
from tests.records.examples import Batch, logs
from tests.reference import answers

EVERYTHING = {"from_offset": 0, "to_offset": 2**62, "aborted": (), "read_committed": True, "stable_end": 2**62}


def fast(data: bytes, *, options: DecodeOptions | None = None, **asked) -> tuple[list[dict], Decoding]:
    decoding = decode(scan(data), options=options or DecodeOptions(), **{**EVERYTHING, **asked})
    arrow_batches = list(decoding)
    for arrow_batch in arrow_batches:
        arrow_batch.validate(full=True)
        assert arrow_batch.num_rows
    return [row for arrow_batch in arrow_batches for row in arrow_batch.to_pylist()], decoding


def assert_equal(data: bytes, *, options: DecodeOptions | None = None, **asked) -> None:
    """Both decoders give the same rows, counts and problems."""
    asked = {**EVERYTHING, **asked}
    rows, decoding = fast(data, options=options, **asked)
    expected = answers.decode(data, **asked)
    assert rows == expected.rows
    assert decoding.next_offset == expected.next_offset
    assert {name: getattr(decoding.counts, name) for name in expected.counts} == expected.counts
    assert decoding.counts.offsets() == decoding.next_offset - asked["from_offset"]
    told = [(one.last_offset, one.reason) for one in decoding.problems]
    assert told == [(last, reason) for _, last, reason in sorted(expected.problems)]


def written(log: Sequence[Batch]) -> bytes:
    return b"".join(batch.write() for batch in log)


@st.composite
def questions(draw: st.DrawFn, log: Sequence[Batch]) -> dict:
    """Ranges that cut batches, lists of aborted transactions in any order."""
    end = log[-1].last_offset + 5 if log else 10
    start = log[0].base_offset if log else 0
    from_offset = draw(st.integers(max(0, start - 3), end))
    return {
        "from_offset": from_offset,
        "to_offset": draw(st.integers(from_offset, end) | st.just(2**62)),
        "aborted": draw(st.lists(st.tuples(st.integers(0, 3), st.integers(start, end)), max_size=4)),
        "read_committed": draw(st.booleans()),
        "stable_end": draw(st.integers(start, end)),
    }


@settings(max_examples=300, deadline=None)
@given(st.data(), logs())
def test_equal_to_the_reference(data, log):
    """Whatever is in a log, and whatever of it is asked for, both decoders give the same."""
    assert_equal(written(log), **data.draw(questions(log)))
