"""Compiles Java source into a folder by the compiler that Spark brings: a Java without javac is enough.

The compiler, Janino, knows the language of Java 8 without lambdas, and wants casts where a type follows from another.
"""

from collections.abc import Sequence
from pathlib import Path

import pyspark
from py4j.java_gateway import JavaGateway

from tests.java_gateway import SHORT_LIVED, java_gateway

_JAVA = 8


def compile_java(source: Path, folder: Path, jars: Sequence[Path]) -> None:
    """Put the classes of one source file into `folder`; an error of the compiler's is raised as py4j gives it."""
    spark = Path(pyspark.__file__).parent / "jars"
    janino = [*spark.glob("janino-*.jar"), *spark.glob("commons-compiler-*.jar")]
    with java_gateway([*janino, *jars], *SHORT_LIVED) as gateway:
        compiler = gateway.jvm.org.codehaus.janino.CompilerFactory().newCompiler()
        compiler.setTargetVersion(_JAVA)
        compiler.setSourceVersion(_JAVA)
        compiler.setDestinationDirectory(gateway.jvm.java.io.File(str(folder)), False)
        compiler.setClassPath(_files(gateway, jars))
        compiler.compile(_files(gateway, [source]))


def _files(gateway: JavaGateway, paths: Sequence[Path]) -> object:
    made = gateway.new_array(gateway.jvm.java.io.File, len(paths))
    for index, path in enumerate(paths):
        made[index] = gateway.jvm.java.io.File(str(path))
    return made
