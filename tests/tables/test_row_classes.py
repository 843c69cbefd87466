"""Rows are made by keyword, or by position from values that have the names of the fields."""

import ast
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

import kafka_lagoon
from kafka_lagoon.tables.row_classes import Int32, column, row

PRODUCT = Path(kafka_lagoon.__file__).parent


@pytest.fixture(scope="module")
def sources() -> dict[str, str]:
    """Every module, by its path."""
    return {path.relative_to(PRODUCT).as_posix(): path.read_text("utf-8") for path in PRODUCT.rglob("*.py")}


@pytest.fixture(scope="module")
def row_classes(sources: dict[str, str]) -> dict[str, list[str]]:
    """Return the fields of every class with `@row` by its name, except for classes of two or three fields."""
    classes = {
        node.name: [
            item.target.id
            for item in node.body
            if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
        ]
        for source in sources.values()
        if "@row" in source
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ClassDef) and any(getattr(one, "id", None) == "row" for one in node.decorator_list)
    }
    return {name: names for name, names in classes.items() if len(names) > 3}


def misplaced(tree: ast.AST, row_classes: dict[str, list[str]]) -> Iterator[str]:
    """Return positional arguments of row classes whose names differ from their fields; None may be passed for any field."""
    for node in ast.walk(tree):
        name = getattr(node.func, "id", getattr(node.func, "attr", None)) if isinstance(node, ast.Call) else None
        if not isinstance(node, ast.Call) or name not in row_classes:
            continue
        for argument, field in zip(node.args, row_classes[name], strict=False):
            bears = getattr(argument, "id", getattr(argument, "attr", None))
            if bears != field and not (isinstance(argument, ast.Constant) and argument.value is None):
                yield f"line {argument.lineno}: {name}: {ast.unparse(argument)} is given for {field}"


@pytest.mark.long
def test_no_value_stands_in_the_place_of_another(sources: dict[str, str], row_classes: dict[str, list[str]]) -> None:
    """No type checker finds two swapped values of one type, so values by position must have the names of their fields."""
    misplaced_values = {
        module: list(misplaced(ast.parse(source), row_classes))
        for module, source in sources.items()
        if any(f"{name}(" in source for name in row_classes)
    }
    assert {module: lines for module, lines in misplaced_values.items() if lines} == {}


def test_the_check_finds_neighbours_that_are_swapped(row_classes: dict[str, list[str]]) -> None:
    """A value of another name is refused by position, and accepted by keyword."""
    classes = {"LagRow": ["partition", "lag", "lag_lower_bound"]}
    good = "LagRow(place.partition, lag, None); LagRow(partition=1, lag=high - offset, lag_lower_bound=2)"
    assert list(misplaced(ast.parse(good), classes)) == []
    swapped = "rows.LagRow(place.partition, lag_lower_bound, lag)"
    assert len(list(misplaced(ast.parse(swapped), classes))) == 2
    assert len(list(misplaced(ast.parse("LagRow(partition, high - offset, None)"), classes))) == 1
    assert len(row_classes["ConsumerLagRow"]) > 20


def test_a_row_needs_every_field() -> None:
    """An unknown value must be passed as None; rows are equal by value."""

    @row
    class Sample:
        """A row."""

        number: Int32 = column("A number.")
        text: str | None = column("A text.", null_if="number = 0")

    assert [field.metadata["null_if"] for field in fields(Sample)] == [None, "number = 0"]
    assert Sample(number=1, text=None) == Sample(1, None)
    with pytest.raises(TypeError):
        Sample(number=1)
