"""Keeps the signals that ask this process to end, so that its exit code is also that of its events and metrics."""

import signal

terminations: list[int] = []  # SIGTERM and SIGHUP, in the order in which `__main__.main` received them


def interrupted_code() -> int:
    """Return the exit code of a command that is interrupted: that of the first of these signals, or else of Ctrl-C."""
    return 128 + (terminations[0] if terminations else signal.SIGINT)
