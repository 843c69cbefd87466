"""Alters the brokers' answers about alterations, and checks the outcomes of the actions."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any

from kafka_lagoon.apply.execution import Execution
from kafka_lagoon.protocol.error_codes import REQUEST_TIMED_OUT
from tests.fake.faults import Altered, Close, Fault


def timed_out(api_key: int) -> Fault:
    """Let the request be carried out, and answer REQUEST_TIMED_OUT."""
    return Fault(api_key, Altered(_with_code))


def answered(api_key: int, code: int) -> Fault:
    """Let the request be carried out, and answer this error code, as to the second request of a broker that repeats it."""
    return Fault(api_key, Altered(lambda answer: _with_code(answer, code)))


def right(api_key: int) -> Fault:
    """Answer the next request correctly; the following fault applies to the request after it."""
    return Fault(api_key, Altered(lambda answer: answer))


def lost(api_key: int) -> Fault:
    """Let the request be carried out, and end the connection without a response."""
    return Fault(api_key, Close())


def not_done(api_key: int, undo: Callable[[], object]) -> Fault:
    """Answer REQUEST_TIMED_OUT without carrying the request out; `undo` reverts the change of the fake broker."""

    def change(answer: Any) -> Any:
        undo()
        return _with_code(answer)

    return Fault(api_key, Altered(change))


def _with_code(answer: Any, code: int = REQUEST_TIMED_OUT) -> Any:
    """Return the same response, with this code in all of its error codes."""
    if isinstance(answer, tuple):
        return tuple(_with_code(one, code) for one in answer)
    if not is_dataclass(answer) or isinstance(answer, type):
        return answer
    inner = {one.name: _with_code(getattr(answer, one.name), code) for one in fields(answer)}
    if "error_code" in inner and not any(isinstance(value, tuple) and value for value in inner.values()):
        inner["error_code"] = code
    return replace(answer, **inner)


def endings(execution: Execution) -> list[tuple[str, str | None]]:
    """Return outcome and error of each action, in the order of execution."""
    return [(result.outcome.value, result.failure.name if result.failure else None) for result in execution.results]
