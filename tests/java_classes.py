"""Builds the class files of delta/java/ and the jar of source/java/ from their sources: `python -m tests.java_classes`."""

import io
import zipfile
from pathlib import Path
from typing import Any

from kafka_lagoon import delta, source
from kafka_lagoon.delta.session import session

LOG_STORES = Path(delta.__file__).parent / "java"
COLUMNAR_SOURCE = Path(source.__file__).parent / "java" / "ColumnarSource.java"
JAR = COLUMNAR_SOURCE.with_name("columnar-source.jar")
_LANGUAGE = 8  # of Janino, the compiler that Spark brings
_REGISTER = "META-INF/services/org.apache.spark.sql.sources.DataSourceRegister"
_SAME_TIME = (1980, 1, 1, 0, 0, 0)


def compiled(jvm: Any, source: Path) -> dict[str, bytes]:
    """Return the classes of one source file by name, compiled in a JVM that has Delta."""
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
    compiler.setSourceVersion(_LANGUAGE)
    compiler.setTargetVersion(_LANGUAGE)
    compiler.cook(source.read_text("utf-8"))
    return {name: bytes(code) for name, code in compiler.getBytecodes().items()}


def jar(classes: dict[str, bytes]) -> bytes:
    """Return a jar whose class `ColumnarSource` Spark finds as a data source; the same bytes for the same classes."""
    entries = {f"{name.replace('.', '/')}.class": code for name, code in classes.items()}
    entries[_REGISTER] = min(classes, key=len).encode()
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as archive:
        for name, content in sorted(entries.items()):
            archive.writestr(zipfile.ZipInfo(name, _SAME_TIME), content)
    return made.getvalue()


if __name__ == "__main__":
    jvm = session("class files").sparkContext._jvm
    for path in LOG_STORES.glob("*.class"):
        (code,) = compiled(jvm, path.with_suffix(".java")).values()
        path.write_bytes(code)
    JAR.write_bytes(jar(compiled(jvm, COLUMNAR_SOURCE)))
