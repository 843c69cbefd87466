"""Every item of a request has one answer or one refusal after a response, in any order and however often it is named."""

import pytest

from kafka_lagoon.client.intake import AnswersByItem, ItemAnswer, Source
from kafka_lagoon.errors import Contradiction

_SOURCE = Source(2, 1_000)


def _intake(*response: ItemAnswer[str, int]) -> AnswersByItem[str, int]:
    return AnswersByItem(lambda _response, _items: response)


def test_an_item_has_its_answer_and_source() -> None:
    """The source of an answer is the broker of the response."""
    intake = _intake(("a", 0, 1))
    assert intake.take(None, ["a"], _SOURCE) == {}
    assert (intake.answers, intake.sources) == ({"a": 1}, {"a": _SOURCE})


def test_an_error_code_is_a_refusal_with_its_message() -> None:
    """A broker's message about an item is kept beside its error code."""
    intake = _intake(("a", 3, None, "gone"), ("b", 5, None))
    assert intake.take(None, ["a", "b"], _SOURCE) == {"a": 3, "b": 5}
    assert intake.messages == {"a": "gone", "b": None}


def test_an_item_that_is_left_out_is_refused_without_a_code() -> None:
    """An item without an answer is never dropped."""
    assert _intake(("a", 0, 1)).take(None, ["a", "b"], _SOURCE) == {"b": None}


def test_an_item_that_was_not_requested_is_passed_over() -> None:
    """Neither its answer nor its error code is kept."""
    intake = _intake(("a", 0, 1), ("b", 0, 2), ("c", 3, None))
    assert intake.take(None, ["a"], _SOURCE) == {}
    assert intake.answers == {"a": 1}


def test_an_item_that_is_named_twice() -> None:
    """The same answer twice is one answer; of two different ones neither is believed."""
    alike, unlike = _intake(("a", 0, 1), ("a", 0, 1)), _intake(("a", 0, 1), ("a", 0, 2))
    assert alike.take(None, ["a"], _SOURCE) == {}
    refused = unlike.take(None, ["a"], _SOURCE)
    assert isinstance(refused["a"], Contradiction)
    assert (alike.answers, unlike.answers) == ({"a": 1}, {})


@pytest.mark.parametrize("codes", [(0, 3), (3, 0), (3, 5)])
def test_an_alteration_that_is_answered_twice(codes: tuple[int, int]) -> None:
    """It has no answer but its error code; after an error the success was passed over, so that it seemed not to be done."""
    refused = _intake(*(("a", code, None) for code in codes)).take(None, ["a"], _SOURCE)
    assert isinstance(refused["a"], Contradiction)
    assert _intake(("a", 3, None), ("a", 3, None)).take(None, ["a"], _SOURCE) == {"a": 3}
