"""Lets a run of the proof end its brokers, servers and jobs when it is terminated."""

import signal
import sys

_TERMINATED = 128 + signal.SIGTERM


def exit_on_termination() -> None:
    """Make SIGTERM raise SystemExit, so that what a `with` block started is ended."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(_TERMINATED))
