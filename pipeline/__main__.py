"""`python -m pipeline` is `lagoon`."""

import sys

from pipeline.cli.main import main

sys.exit(main())
