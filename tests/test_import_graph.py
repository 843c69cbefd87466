"""One SQL statement, page or task imports few of our modules, and no chain of imports is long."""

import subprocess
import sys
from collections.abc import Mapping
from functools import cache

import grimp
import pytest

from kafka_lagoon.cli.registry import COMMANDS

# Contracts in pyproject.toml keep these numbers low: readers and writers of tables do not import the Kafka client.
MOST = {
    "kafka_lagoon.cli.kafka.metadata": 77,
    "kafka_lagoon.query.duckdb_engine": 27,
    "kafka_lagoon.report.page": 41,
    "kafka_lagoon.restore.archive_reader": 14,
    "kafka_lagoon.delta.record_files": 11,
}
_LONGEST_CHAIN = 24  # lag needs offsets, which client.routing asks


@pytest.mark.parametrize("module", MOST)
def test_few_modules_are_imported(module: str) -> None:
    """Packages that only have a docstring are not counted."""
    code = f"import sys, {module}; print(*(m.__file__ for n, m in sys.modules.items() if n.startswith('kafka_lagoon')))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    imported = [file for file in run.stdout.split() if not file.endswith("__init__.py")]
    assert len(imported) <= MOST[module], "\n".join(imported)


def test_pydantic_waits_for_settings_or_a_desired_state() -> None:
    """Importing it takes longer than everything else that commands on clusters import."""
    places = (one.module for name, one in COMMANDS.items() if name == "import" or name.startswith(("kafka ", "admin ")))
    code = f"import sys, {', '.join(sorted(set(places)))}; print('pydantic' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"


def test_the_longest_chain_of_imports() -> None:
    """From any module a reader gets to modules without imports in few steps."""
    graph = grimp.build_graph("kafka_lagoon", exclude_type_checking_imports=True)
    imports = {module: sorted(graph.find_modules_directly_imported_by(module)) for module in graph.modules}
    chain = _longest_chain(imports)
    assert len(chain) <= _LONGEST_CHAIN, " > ".join(chain)


def _longest_chain(imports: Mapping[str, list[str]]) -> list[str]:
    @cache
    def longest_from(module: str) -> list[str]:
        return [module, *max((longest_from(imported) for imported in imports[module]), key=len, default=[])]

    return max(map(longest_from, imports), key=len)
