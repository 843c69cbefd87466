"""Finds Python's, pydantic's and dataclasses' spelling of values in lines for users."""

import re

# One alternative each: calls like TopicPartition(topic='a'), types of pydantic, values of Python, argparse's types.
_PYTHON = re.compile(
    r"""
      \b[A-Za-z_]\w*\(\w+=                    # a dataclass, a named tuple, a model
    | \bfunction-(?:before|after|wrap|plain)\b|is-instance|\[type=|\bpydantic\b|\bInput\ should\b|constrained-|nullable\[
    | \bvalidator\b|\bNoneType\b|\bNone\b|\b(?:int|str|bool|float|dict|tuple)\b
    | \bTrue\b|\bFalse\b
    | \binvalid\ \w+\ value\b | \[Errno\ |\bTraceback\b|\b[A-Z]\w+(?:Error|Exception)\b
    | \bb'|\bb"|<[\w.]+\ object\ at|<class\ |\bEnum\b
    """,
    re.VERBOSE,
)


def python_in(text: str) -> list[str]:
    """Return the parts of a text in Python's spelling; tests want none."""
    return [found[0] for found in _PYTHON.finditer(text)]
