"""The environment with Airflow and Kubernetes' schemas, apart from the environment of the tests."""

import os
from pathlib import Path

import pytest

from tests.installed import CLONE

_DEFAULT = CLONE / ".cache" / "schedules" / "bin" / "python"
_REQUIREMENTS = Path(__file__).parent / "requirements.txt"


def interpreter() -> Path:
    """Return the interpreter of that environment; without it the test fails and says how to make it."""
    chosen = Path(os.environ.get("SCHEDULES_PYTHON", _DEFAULT))
    if not chosen.exists():
        folder = _DEFAULT.parent.parent
        pytest.fail(
            f"{chosen} is not there: python3.11 -m venv {folder} && {folder}/bin/pip install -r {_REQUIREMENTS}; "
            "or set SCHEDULES_PYTHON to an interpreter that has Airflow"
        )
    return chosen
