"""Faults that a fake broker shows instead of a good answer."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Change = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Close:
    """Close the connection without an answer, or after `sent` bytes of it; answers of up to `spared` bytes come whole."""

    sent: int = 0
    spared: int = -1


@dataclass(frozen=True, slots=True)
class Hang:
    """Read on and never answer."""


@dataclass(frozen=True, slots=True)
class Raw:
    """Answer with these bytes, length prefix included."""

    answer: bytes


@dataclass(frozen=True, slots=True)
class Altered:
    """Answer what `change` makes of the right answer."""

    change: Change


@dataclass(frozen=True, slots=True)
class WrongCorrelation:
    """Answer rightly, but to another request."""


@dataclass(frozen=True, slots=True)
class Slow:
    """Answer rightly, `seconds` later."""

    seconds: float


Action = Slow | Close | Hang | Raw | Altered | WrongCorrelation


@dataclass(slots=True)
class Fault:
    """An action for the next `times` requests of an API (None: any), at one broker (None: at any)."""

    api_key: int | None
    action: Action
    node_id: int | None = None
    times: int = 1

    def strikes(self, node_id: int, api_key: int) -> bool:
        """True if the fault applies to this request; that uses up a strike."""
        if self.times <= 0 or self.api_key not in (None, api_key) or self.node_id not in (None, node_id):
            return False
        self.times -= 1
        return True
