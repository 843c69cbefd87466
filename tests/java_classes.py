"""Builds the class files of delta/java/ from their sources: `python -m tests.java_classes`."""

from pathlib import Path
from typing import Any

from kafka_lagoon import delta
from kafka_lagoon.delta.session import session

SOURCES = Path(delta.__file__).parent / "java"
_LANGUAGE = 8  # of Janino, the compiler that Spark brings


def compiled(jvm: Any, source: Path) -> bytes:
    """Return the class of one source file, compiled in a JVM that has Delta."""
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
    compiler.setSourceVersion(_LANGUAGE)
    compiler.setTargetVersion(_LANGUAGE)
    compiler.cook(source.read_text("utf-8"))
    (code,) = compiler.getBytecodes().values()
    return bytes(code)


if __name__ == "__main__":
    for path in SOURCES.glob("*.class"):
        path.write_bytes(compiled(session("class files").sparkContext._jvm, path.with_suffix(".java")))
