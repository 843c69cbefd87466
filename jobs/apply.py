"""Makes a cluster what a file of desired state says.

    spark-submit jobs/apply.py state.toml --conf conf/local.toml --yes

Exit codes: 0 done, 1 failed, 2 bad configuration or an option that is missing, 3 partly done, 4 another run alters the cluster.
"""

import sys

from kafka_lagoon.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["apply", *sys.argv[1:]]))
