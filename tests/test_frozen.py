"""Classes of fields behave as dataclasses do, but for being frozen at run time."""

import pickle
from dataclasses import dataclass, field, replace

import pytest

from kafka_lagoon.frozen import frozen, slotted


@frozen
class Named:
    name: str
    number: int = 0
    hidden: str = field(default="", repr=False)
    note: str = field(default="", compare=False)


@frozen(kw_only=False)
class Pair:
    left: int
    right: object = None


@frozen
class Other:
    name: str
    number: int = 0
    hidden: str = ""
    note: str = ""


@slotted
class Row:
    number: int = 0


@slotted
class Empty: ...


@dataclass(frozen=True)
class Standard:
    name: str
    number: int = 0
    hidden: str = field(default="", repr=False)
    note: str = field(default="", compare=False)


def test_objects_are_equal_if_their_fields_and_classes_are() -> None:
    """A field that is not compared does not count, as in dataclasses; hashes agree with that."""
    first, same = Named(name="a", note="x"), Named(name="a", note="y")
    assert (first == same, hash(first) == hash(same), len({first, same})) == (True, True, 1)
    assert first != replace(first, number=1)
    assert first != replace(first, hidden="b")
    assert first != Other(name="a")
    assert Pair(1, "x") == Pair(1, "x") != Pair(1)
    assert first.__eq__(1) is NotImplemented


def test_one_field_is_compared_as_dataclasses_do() -> None:
    """NaN is equal to itself where it is the same object."""
    nan = float("nan")
    assert (Row(nan) == Row(nan), Row(nan) == Row(float("nan"))) == (True, False)
    assert Empty() == Empty() != Row()


def test_objects_are_spelled_as_dataclasses_spell_them() -> None:
    """Fields that are not to be shown, such as passwords, are not."""
    given = {"name": "a", "number": 2, "hidden": "password", "note": "n"}
    assert repr(Named(**given)) == repr(Standard(**given)).replace("Standard", "Named")
    assert "password" not in repr(Named(**given))


def test_only_frozen_classes_have_hashes() -> None:
    """Rows and messages are many, and some of their values have no hash."""
    with pytest.raises(TypeError, match="unhashable"):
        hash(Row())
    with pytest.raises(TypeError, match="unhashable"):
        hash(Pair(1, []))


def test_objects_are_small_and_pickled() -> None:
    """They have slots, and Spark sends them to executors."""
    assert not hasattr(Pair(1), "__dict__")
    pickled = pickle.dumps(Pair(1, Named(name="a")))
    assert pickle.loads(pickled) == Pair(1, Named(name="a"))  # noqa: S301  ours


def test_arguments_by_name_or_position() -> None:
    """By default only by name."""
    with pytest.raises(TypeError, match="positional"):
        Named("a")  # type: ignore[misc]
