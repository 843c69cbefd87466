"""`lagoon`, also as `python -m kafka_lagoon`, and the jobs: Ctrl-C and SIGTERM end the process in order, with one line.

`timeout`, systemd, Kubernetes and Airflow stop a process with SIGTERM. Without a handler Python ends at once, and folders of
temporary files stay.
"""

import gc
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from kafka_lagoon.garbage import gc_paused

_AGAIN_AFTER_S = 0.01
_INTERRUPTED, _TERMINATED = 128 + signal.SIGINT, 128 + signal.SIGTERM


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name, as the last one of this process; return its exit code."""
    terminations: list[int] = []
    _name_files_in_utf8()

    def terminate(number: int, _: object) -> None:
        terminations.append(number)
        signal.signal(number, signal.SIG_DFL)  # a second SIGTERM ends the process at once
        raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGTERM)
    # A process that ignores SIGTERM, as a shell may have started it, goes on, as Python lets it with SIGINT.
    if before != signal.SIG_IGN:
        signal.signal(signal.SIGTERM, terminate)
    try:
        with _interrupts_raised_again():
            with gc_paused():
                from kafka_lagoon.cli.main import main as run  # noqa: PLC0415  what may be interrupted

            code = run(argv)
    except KeyboardInterrupt:
        print("lagoon: interrupted", file=sys.stderr)  # noqa: T201  a command's own line
        code = _INTERRUPTED
    if code == _INTERRUPTED:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C would interrupt the end of the process
        code = _TERMINATED if terminations else _INTERRUPTED
    # Nothing catches the interrupt any more, which would be a traceback.
    signal.signal(signal.SIGTERM, before)
    # Otherwise Python walks all objects when the process ends, for a tenth of a short command. DuckDB complains of objects that
    # are not collected then.
    if "duckdb" not in sys.modules:
        gc.freeze()
    return code


@contextmanager
def _interrupts_raised_again() -> Iterator[None]:
    """Raise an interrupt again, a little later, that Python ignores: one in a finalizer or in a callback of a weak reference.

    Py4j has such callbacks for objects of Java, and Python for modules that are imported. The command would go on.
    """
    before, alarm = sys.unraisablehook, signal.getsignal(signal.SIGALRM)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    def raise_again(ignored: "sys.UnraisableHookArgs") -> None:
        if not issubclass(ignored.exc_type, KeyboardInterrupt):
            before(ignored)
            return
        signal.signal(signal.SIGALRM, interrupt)  # raised in here it would be ignored, too
        signal.setitimer(signal.ITIMER_REAL, _AGAIN_AFTER_S)

    sys.unraisablehook = raise_again
    try:
        yield
    finally:
        sys.unraisablehook = before
        if signal.getsignal(signal.SIGALRM) is interrupt:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, alarm)


def _name_files_in_utf8() -> None:
    """Let JVMs that this process starts name files in UTF-8, as Python itself does in a locale that is C or not installed.

    Java takes such a locale for ASCII, and refuses the folder of a warehouse that has other letters in its path.
    """
    if sys.flags.utf8_mode:
        os.environ["LC_ALL"] = "C.UTF-8"


if __name__ == "__main__":
    sys.exit(main())
