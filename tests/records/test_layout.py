"""The arrays that Python and the kernels share: every number has a slot of its own."""

from kafka_lagoon.records import encode_layout, layout

NAMES = {name: value for name, value in vars(layout).items() if name.isupper()}


def _slots(first: str, last: str) -> list[int]:
    names = list(NAMES)
    return [NAMES[name] for name in names[names.index(first) : names.index(last) + 1]]


def test_slots_are_distinct() -> None:
    """All slots of an array have different numbers, without gaps."""
    assert _slots("POSITION", "MARKER") == list(range(layout.COLUMNS))
    assert _slots("NEXT_OFFSET", "MOST_HEADERS") == list(range(layout.STATE_SIZE))
    assert _slots("NO_FAULT", "TOO_MANY_HEADERS") == list(range(11))
    assert _slots("DECODE", "LEGACY") == list(range(6))


def test_the_order_of_the_slots() -> None:
    """Counts come before the slots that `Buffers` clears, and MOST_HEADERS, which it keeps, comes last."""
    assert max(_slots("NEXT_OFFSET", "FAULT_COUNT")) < layout.FILLED_ROWS
    assert layout.MOST_HEADERS == layout.STATE_SIZE - 1


def test_slots_of_the_encoder() -> None:
    """The same holds for the encoder's array."""
    names = [name for name in vars(encode_layout) if name.isupper() and not name.endswith("SIZE")]
    slots = [getattr(encode_layout, name) for name in names]
    assert slots == [*range(encode_layout.STATE_SIZE), *range(encode_layout.CHOICE_SIZE)]
