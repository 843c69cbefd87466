"""Fewer and larger files for days that are over, and away with files that nobody needs any more.

    spark-submit jobs/maintain.py --conf conf/local.toml --dry-run

Exit codes: 0 complete or nothing to do, 1 failed, 2 bad configuration, 4 locked.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

if __name__ == "__main__":  # spark-submit puts this folder on the path, not the one that holds the packages
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from jobs.clock import SYSTEM_CLOCK
from pipeline.cli.maintain import maintain_all, maintain_arguments
from pipeline.cli.terminal import reported


def main(argv: Sequence[str]) -> int:
    """The exit code of a run with these arguments."""
    return reported(lambda: maintain_all(maintain_arguments(argv, os.environ), SYSTEM_CLOCK))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
