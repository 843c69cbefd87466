"""`lagoon`, also as `python -m kafka_lagoon`: Ctrl-C during the imports of the command line ends with one line, too."""

import sys


def main() -> int:
    """Run the command of the process; return its exit code."""
    try:
        from kafka_lagoon.cli.main import main as run  # noqa: PLC0415  what may be interrupted

        return run()
    except KeyboardInterrupt:
        print("lagoon: interrupted", file=sys.stderr)  # noqa: T201  a command's own line
        return 130


if __name__ == "__main__":
    sys.exit(main())
