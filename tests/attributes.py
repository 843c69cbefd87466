"""Finds the attributes that code reads, for tests that nothing is declared in vain."""

import ast
from pathlib import Path


def attributes_of(folder: Path) -> set[str]:
    """Return the name of every attribute in an expression of the folder's modules."""
    trees = (ast.parse(path.read_text("utf-8")) for path in folder.rglob("*.py"))
    return {node.attr for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
