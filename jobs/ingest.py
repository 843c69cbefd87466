"""Archives new records of topics in table `records`, exactly once.

    spark-submit jobs/ingest.py --conf conf/local.toml --topics orders,payments --pattern '^clicks'

Exit codes: 0 complete or nothing new, 1 failed, 2 bad configuration, 3 written, but incomplete or with losses, 4 locked.
"""

import sys

from kafka_lagoon.__main__ import main

if __name__ == "__main__":
    sys.exit(main(["ingest", *sys.argv[1:]]))
