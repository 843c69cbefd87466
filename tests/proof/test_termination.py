"""A run of the proof that is terminated ends what it started."""

import signal
import subprocess
import sys

_RUN = """
import time
from contextlib import ExitStack
from tests.proof.termination import exit_on_termination

exit_on_termination()
with ExitStack() as stack:
    stack.callback(print, "ended", flush=True)
    print("started", flush=True)
    time.sleep(60)
"""


def test_sigterm_ends_what_was_started() -> None:
    """The exit code is that of a process that the signal has ended, as shells give it."""
    run = subprocess.Popen([sys.executable, "-c", _RUN], stdout=subprocess.PIPE, text=True)
    assert run.stdout
    assert run.stdout.readline() == "started\n"
    run.send_signal(signal.SIGTERM)
    assert (run.communicate(timeout=60)[0], run.returncode) == ("ended\n", 128 + signal.SIGTERM)
