"""A warehouse with a history, and functions that read it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_lagoon.query.duckdb_engine import opened
from kafka_lagoon.query.statements import Ask
from kafka_lagoon.report.page import RELATIONS
from kafka_lagoon.report.scope import Scope, scopes
from kafka_lagoon.runs.report import Report, ReportOptions, chosen_scopes, make_report
from tests.delta.lake import make_lake
from tests.report.history import NOW_MS, SNAPSHOTS


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_lake(tmp_path_factory.mktemp("report"), SNAPSHOTS)


@pytest.fixture(scope="session")
def ask(lake: Path) -> Iterator[Ask]:
    with opened(lake, RELATIONS) as ask:
        yield ask


@pytest.fixture(scope="session")
def scope(ask: Ask) -> Scope:
    """The last snapshot of the cluster with a history."""
    return scopes(ask, ["default"], None, 24)[0]


@pytest.fixture(scope="session")
def report(ask: Ask) -> Report:
    return make_report(chosen_scopes(ask, ReportOptions()), ReportOptions(), NOW_MS)
