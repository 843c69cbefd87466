"""Makes one self-contained HTML page about clusters, from the tables, for the newest snapshot or a past one.

    spark-submit jobs/report.py --conf conf/local.toml --out report.html

Exit codes: 0 the page is written, 1 failed, 2 bad configuration, 3 written, but a part of it could not be read.
"""

import sys

from kafka_lagoon.__main__ import main

if __name__ == "__main__":
    sys.exit(main(["report", *sys.argv[1:]]))
