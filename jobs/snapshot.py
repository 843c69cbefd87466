"""Takes one snapshot of one or more clusters into the state tables.

    spark-submit jobs/snapshot.py --conf conf/local.toml

Exit codes: 0 complete, 1 failed, 2 bad configuration, 3 written, but incomplete, 4 locked. For a slot
that is already published, the exit code is that of the published snapshot.
"""

import sys

from kafka_lagoon.__main__ import main

if __name__ == "__main__":
    sys.exit(main(["snapshot", *sys.argv[1:]]))
