"""A warehouse with two small runs of yesterday, made in a process of its own: python -m tests.jobs.two_ingests FOLDER"""

import sys

from pipeline.tables.session import session
from pipeline.tables.warehouse import open_warehouse
from tests.clock import CLOCK
from tests.tables.conftest import settings
from tests.tables.test_maintain import YESTERDAY, ingest

if __name__ == "__main__":
    warehouse = open_warehouse(session("two ingests"), settings(f"warehouse={sys.argv[1]}"), CLOCK)
    for number in (1, 2):
        ingest(warehouse, YESTERDAY, number)
