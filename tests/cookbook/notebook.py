"""Runs the notebook of docs/notebooks in Jupyter's kernel and stores its outputs.

python -m tests.cookbook.notebook [FILE]     in an environment with nbclient, ipykernel, matplotlib and the extra `sql`
"""

import os
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from tests.cookbook.week import make_week

NOTEBOOK = Path(__file__).resolve().parents[2] / "docs" / "notebooks" / "lagoon.ipynb"


def main(target: Path) -> None:
    """Write the notebook with outputs from the week's tables."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["WAREHOUSE"] = str(make_week(Path(folder)))
        NotebookClient(notebook, kernel_name="python3", timeout=120).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # time of the execution
    notebook.metadata.language_info = {"name": "python"}
    nbformat.write(notebook, target)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else NOTEBOOK)
