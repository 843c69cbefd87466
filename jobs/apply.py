"""Brings a cluster into the desired state of a file.

    spark-submit jobs/apply.py state.toml --conf conf/local.toml --yes

Exit codes: 0 done, 1 failed, 2 bad configuration or a missing option, 3 partly done, 4 another run alters the cluster.
"""

import sys

from kafka_lagoon.__main__ import main

if __name__ == "__main__":
    sys.exit(main(["apply", *sys.argv[1:]]))
