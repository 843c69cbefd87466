"""`lagoon`, also as `python -m kafka_lagoon`, and the jobs: Ctrl-C, SIGTERM and SIGHUP end the process in order, with one line.

`timeout`, systemd, Kubernetes and Airflow stop a process with SIGTERM; SIGHUP comes when its terminal is closed. Without a
handler Python ends at once, and folders of temporary files stay.
"""

import gc
import os
import select
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from kafka_lagoon.garbage import gc_paused
from kafka_lagoon.terminations import interrupted_code, terminations

_AGAIN_AFTER_S = 0.01
_READ_WITHIN_MS = 500
_INTERRUPTED = 128 + signal.SIGINT
_TERMINATIONS = (signal.SIGTERM, signal.SIGHUP)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name, as the last one of this process; return its exit code."""
    terminations.clear()
    _name_files_in_utf8()

    def terminate(number: int, _: object) -> None:
        terminations.append(number)
        # A second SIGTERM ends the process at once. A second SIGHUP follows from the kernel where a shell has sent the first.
        signal.signal(number, signal.SIG_DFL if number == signal.SIGTERM else signal.SIG_IGN)
        _discard_what_nobody_reads()
        raise KeyboardInterrupt

    before = {number: signal.getsignal(number) for number in _TERMINATIONS}
    # A process that ignores a signal, as nohup or a shell may have started it, goes on, as Python lets it with SIGINT.
    for number, handler in before.items():
        if handler != signal.SIG_IGN:
            signal.signal(number, terminate)
    try:
        with _interrupts_raised_again():
            with gc_paused():
                from kafka_lagoon.cli.main import main as run  # noqa: PLC0415  what may be interrupted

            code = run(argv)
    except KeyboardInterrupt:
        print("lagoon: interrupted", file=sys.stderr)  # noqa: T201  a command's own line
        code = _INTERRUPTED
    # Nothing catches the interrupt any more, which would be a traceback.
    for number, handler in before.items():
        signal.signal(number, handler)
    if code == _INTERRUPTED:
        for number in (signal.SIGINT, signal.SIGHUP):  # a second one would interrupt the end of the process
            signal.signal(number, signal.SIG_IGN)
        code = interrupted_code()
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


def _discard_what_nobody_reads() -> None:
    """Redirect standard output and error to /dev/null if they are full pipes: the last line would wait for ever."""
    for number in (1, 2):
        with suppress(OSError):  # it is closed
            output = select.poll()
            output.register(number, select.POLLOUT)
            if not output.poll(_READ_WITHIN_MS):
                os.dup2(os.open(os.devnull, os.O_WRONLY), number)


def _name_files_in_utf8() -> None:
    """Let JVMs that this process starts name files in UTF-8, as Python itself does in a locale that is C or not installed.

    Java takes such a locale for ASCII, and refuses the folder of a warehouse that has other letters in its path.
    """
    if sys.flags.utf8_mode:
        os.environ["LC_ALL"] = "C.UTF-8"


if __name__ == "__main__":
    sys.exit(main())
