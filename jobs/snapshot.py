"""One snapshot of one or more clusters into the state tables.

    spark-submit jobs/snapshot.py --conf conf/local.toml

Exit codes: 0 complete, 1 failed, 2 bad configuration, 3 written but incomplete, 4 locked; a repeated slot has that of the
published snapshot.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

if __name__ == "__main__":  # spark-submit puts this folder on the path, not the one that holds the packages
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from jobs.clock import SYSTEM_CLOCK
from pipeline.cli.arguments import snapshot_arguments
from pipeline.cli.snapshot import take_snapshots
from pipeline.cli.terminal import reported


def main(argv: Sequence[str]) -> int:
    """The exit code of a run with these arguments."""
    return reported(lambda: take_snapshots(snapshot_arguments(argv, os.environ, SYSTEM_CLOCK), SYSTEM_CLOCK))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
