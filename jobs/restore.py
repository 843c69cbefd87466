"""Writes archived records back into a cluster, exactly once, with a receipt for each partition.

    spark-submit jobs/restore.py --conf conf/local.toml --from-cluster prod --to-cluster spare --topics orders,payments --yes

Exit codes: 0 complete, 1 failed, 2 bad configuration or a clash in the target, 3 written, but incomplete, 4 locked. A run
that was interrupted continues when it is started again with the same arguments.
"""

import sys

from kafka_lagoon.__main__ import main

if __name__ == "__main__":
    sys.exit(main(["restore", *sys.argv[1:]]))
