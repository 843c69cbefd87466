"""`lagoon`, also as `python -m kafka_lagoon`, and the jobs: Ctrl-C ends the process with one line, also during its imports."""

import gc
import signal
import sys
from collections.abc import Sequence

from kafka_lagoon.garbage import gc_paused

_INTERRUPTED = 128 + signal.SIGINT


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name, as the last one of this process; return its exit code."""
    try:
        with gc_paused():
            from kafka_lagoon.cli.main import main as run  # noqa: PLC0415  what may be interrupted

        code = run(argv)
    except KeyboardInterrupt:
        print("lagoon: interrupted", file=sys.stderr)  # noqa: T201  a command's own line
        code = _INTERRUPTED
    if code == _INTERRUPTED:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C would interrupt the end of the process
    # Otherwise Python walks all objects when the process ends, for a tenth of a short command. DuckDB complains of objects that
    # are not collected then.
    if "duckdb" not in sys.modules:
        gc.freeze()
    return code


if __name__ == "__main__":
    sys.exit(main())
