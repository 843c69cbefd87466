"""`python -m kafka_lagoon` is `lagoon`."""

import sys

from kafka_lagoon.cli.main import main

sys.exit(main())
