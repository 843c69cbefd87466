"""The exit code of a command that signals have ended."""

import signal
from collections.abc import Sequence

import pytest

from kafka_lagoon import terminations


@pytest.mark.parametrize(
    ("received", "code"), [((), 130), ((signal.SIGTERM,), 143), ((signal.SIGHUP, signal.SIGTERM), 129)]
)
def test_the_first_signal_decides(monkeypatch: pytest.MonkeyPatch, received: Sequence[int], code: int) -> None:
    """Ctrl-C is none of them."""
    monkeypatch.setattr(terminations, "terminations", list(received))
    assert terminations.interrupted_code() == code
