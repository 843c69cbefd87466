"""Remembers which packages and classes py4j has looked up.

For each part of a name that Python writes, as in jvm.org.apache.hadoop.fs.Path, Java looks for a class in every jar: with PySpark's
300 jars that was a seventh of the processor time of a session.
"""

from typing import Any

import pytest
from py4j.java_gateway import JavaClass, JavaPackage, JVMView


def remember_names(patch: pytest.MonkeyPatch) -> None:
    """Look each name up once in each JVM, in this process."""
    for kind in (JVMView, JavaPackage):
        patch.setattr(kind, "__getattr__", _remembering(kind.__getattr__))


def _remembering(look_up: Any) -> Any:
    def attribute(parent: Any, name: str) -> Any:
        of_jvm = vars(parent)
        names = vars(of_jvm["_gateway_client"]).setdefault("names_found", {})
        key = of_jvm.get("_fqn"), name
        if key in names:
            return names[key]
        value = look_up(parent, name)
        # Jars that are added later can have a class of this name, but not where packages are: those begin with a small letter.
        if isinstance(value, JavaClass) or (isinstance(value, JavaPackage) and name.islower()):
            names[key] = value
        return value

    return attribute
