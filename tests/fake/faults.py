"""Faults of a fake broker, in place of a correct response."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Change = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Close:
    """Close the connection without a response, or after `sent` bytes of it; responses of up to `spared` bytes are whole."""

    sent: int = 0
    spared: int = -1


@dataclass(frozen=True, slots=True)
class Hang:
    """Continue to read and never respond."""


@dataclass(frozen=True, slots=True)
class Raw:
    """Respond with these bytes, including the length prefix."""

    answer: bytes


@dataclass(frozen=True, slots=True)
class Altered:
    """Respond with the correct response, changed by `change`."""

    change: Change


@dataclass(frozen=True, slots=True)
class WrongCorrelation:
    """Respond correctly, but with the correlation id of another request."""


@dataclass(frozen=True, slots=True)
class Slow:
    """Respond correctly, `seconds` later."""

    seconds: float


Action = Slow | Close | Hang | Raw | Altered | WrongCorrelation


@dataclass(slots=True)
class Fault:
    """An action for the next `times` requests of an API (None: any), at one broker (None: any)."""

    api_key: int | None
    action: Action
    node_id: int | None = None
    times: int = 1

    def strikes(self, node_id: int, api_key: int) -> bool:
        """Return True if the fault applies to this request, and count the request."""
        if self.times <= 0 or self.api_key not in (None, api_key) or self.node_id not in (None, node_id):
            return False
        self.times -= 1
        return True
