"""The two writers of an archive."""

from pathlib import Path

import pytest

from kafka_lagoon.delta.warehouse import Warehouse
from kafka_lagoon.ingest.staged_commit import commit_staged, staged_lock
from tests.clock import CLOCK
from tests.delta.record_samples import CLUSTER
from tests.ingest.writers import Writer, kernel_writer


@pytest.fixture
def by_kernel(warehouse: Warehouse) -> Writer:
    return kernel_writer(warehouse)


@pytest.fixture(params=["kernel", pytest.param("spark", marks=pytest.mark.proof)])
def writer(request: pytest.FixtureRequest, warehouse: Warehouse, by_kernel: Writer, tmp_path: Path) -> Writer:
    if request.param == "kernel":
        return by_kernel
    return Writer(lambda: staged_lock(warehouse, str(tmp_path / "staging"), CLUSTER, CLOCK), commit_staged)
