"""Records since the last run, or from where they begin, into table `records`, exactly once.

    spark-submit jobs/ingest.py --conf conf/local.toml --topics orders,payments --pattern '^clicks'

Exit codes: 0 complete or nothing new, 1 failed, 2 bad configuration, 3 written but incomplete or with loss, 4 locked.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

if __name__ == "__main__":  # spark-submit puts this folder on the path, not the one that holds the packages
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from jobs.clock import SYSTEM_CLOCK
from pipeline.cli.arguments import ingest_arguments
from pipeline.cli.ingest import ingest_all
from pipeline.cli.terminal import reported


def main(argv: Sequence[str]) -> int:
    """The exit code of a run with these arguments."""
    return reported(lambda: ingest_all(ingest_arguments(argv, os.environ, SYSTEM_CLOCK), SYSTEM_CLOCK))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
