"""Turns pydantic's errors in a desired state into faults with file, line and the path of the value."""

from collections.abc import Sequence
from types import UnionType
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from kafka_lagoon.apply.desired.document import Document, Path
from kafka_lagoon.apply.desired.model import ACTIONS, Sections
from kafka_lagoon.apply.desired.validators import not_one_of
from kafka_lagoon.text import did_you_mean

_KEY = "[key]"  # pydantic's last part of the path of a key
_REASONS = {  # by pydantic's types of errors, with their context
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a number",
    "greater_than_equal": "must be at least {ge:.0f}",
    "less_than_equal": "must be at most {le}",
    "literal_error": "must be {expected}",
    "model_type": "must be a table",
    "model_attributes_type": "must be a table",  # of an action
    "dict_type": "must be a table",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "too_short": "must not be empty",
}


def faults_of(error: ValidationError, document: Document) -> list[str]:
    """One line for each error; a null is a fault of the document already."""
    errors = error.errors(include_url=False)
    return [_fault(one, document) for one in errors if one["input"] is not None or one["type"] == "missing"]


def _fault(error: ErrorDetails, document: Document) -> str:
    kind, location, context = error["type"], error["loc"], error.get("ctx", {})
    path = location[:-1] if location[-1:] == (_KEY,) and error["input"] == location[-2] else location
    if path[:1] == ("actions",):
        path = (*path[:2], *path[3:])  # without the action's name, by which pydantic chose the class
    match kind:
        case "missing":
            return document.fault(path[:-1], f"{path[-1]} is missing")
        case "union_tag_not_found":
            return document.fault(path, "action is missing")
        case "union_tag_invalid":
            return document.fault((*path, "action"), not_one_of(context["tag"], list(ACTIONS)))
        case "extra_forbidden":
            known = _known(location[:-1])
            return document.fault(
                path, f"is not known here{did_you_mean(str(path[-1]), known)}; known are {', '.join(known)}"
            )
        case "value_error":
            return document.fault(path, str(context["error"]))
        case _:
            return document.fault(path, _REASONS[kind].format(**context) if kind in _REASONS else error["msg"])


def _known(location: Path) -> Sequence[str]:
    """The fields of the class that is declared for a location."""
    kind: Any = Sections
    for part in location:
        if isinstance(kind, UnionType):
            kind = ACTIONS[str(part)]
        elif isinstance(kind, type) and issubclass(kind, BaseModel):
            kind = kind.model_fields[str(part)].annotation
        else:  # a list or a table of such values
            kind = get_args(kind)[-1]
        kind = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    return list(kind.model_fields)
