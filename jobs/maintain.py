"""Joins small files of past days, removes rows that are older than [retention] allows, and deletes unneeded files.

    spark-submit jobs/maintain.py --conf conf/local.toml --dry-run

Exit codes: 0 complete or nothing to do, 1 failed, 2 bad configuration, 4 locked.
"""

import sys

from kafka_lagoon.__main__ import main

if __name__ == "__main__":
    sys.exit(main(["maintain", *sys.argv[1:]]))
