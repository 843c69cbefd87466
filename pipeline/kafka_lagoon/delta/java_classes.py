"""Defines our Java classes beside Delta's, in Delta's class loader, where the Kernel and Spark find them by name.

Their class files are stored beside their sources in `java/`, so that no compiler is needed and the class path does not
change.
"""

from pathlib import Path
from typing import Any

from kafka_lagoon.delta.storage import JAVA_ERRORS

LOCAL_LOG_STORE = "io.delta.storage.LagoonLocalLogStore"
OBJECT_LOG_STORE = "io.delta.storage.LagoonObjectLogStore"
_FOLDER = Path(__file__).parent / "java"


def defined(jvm: Any, name: str) -> bool:
    """Define the class called `name` in the JVM if it is not defined yet; True if it is defined then."""
    delta = jvm.java.lang.Thread.currentThread().getContextClassLoader().loadClass("io.delta.storage.LogStore")
    handles = jvm.java.lang.invoke.MethodHandles
    code = (_FOLDER / f"{name.rpartition('.')[2]}.class").read_bytes()
    try:
        handles.privateLookupIn(delta, handles.lookup()).defineClass(code)
    except JAVA_ERRORS:
        return _has(delta.getClassLoader(), name)  # it was defined before, or the JVM does not allow it
    return True


def _has(loader: Any, name: str) -> bool:
    try:
        loader.loadClass(name)
    except JAVA_ERRORS:
        return False
    return True
