"""Makes a variant of our log store for folders whose steps are effects, too: it logs each, and stops before one of them.

For Python a commit is one effect. In Java it is a temporary file, a link to it, and the end of the temporary file. The variant is
our source with a line before each of its calls of `Files`, compiled by the compiler that Spark brings.
"""

import re
import shutil
from pathlib import Path

from kafka_lagoon.delta import java_classes
from kafka_lagoon.delta.jvm_start import kernel_jars
from tests.java_source import compile_java

SOURCES = Path(java_classes.__file__).with_name("java")
NAME = "LagoonLocalLogStore"
_VERBS = {"write": "write", "deleteIfExists": "remove", "createLink": "link", "move": "rename"}
_CALL = re.compile(r"^(\s+)(Files\.(\w+)\((\w+)[^;]*;)", re.MULTILINE)
_LOGGING = r"""
  private static final java.util.HashMap NUMBERS = new java.util.HashMap();

  private static void effect(String verb, java.nio.file.Path path) throws IOException {
    String log = System.getenv("EFFECTS_LOG");
    String root = System.getenv("EFFECTS_ROOT") + "/";
    if (log == null || !path.toString().startsWith(root) || (verb.equals("remove") && !Files.exists(path, new LinkOption[0]))) {
      return;
    }
    String below = path.toString().substring(root.length());
    String file = path.getFileName().toString();
    String kind = file.endsWith(".tmp") ? "temporary file" : file.endsWith(".json") ? "commit" : file;
    String name = "LagoonLocalLogStore:" + verb + " " + below.substring(0, below.indexOf('/')) + " " + kind;
    int number;
    synchronized (NUMBERS) {
      Integer last = (Integer) NUMBERS.get(name);
      number = last == null ? 1 : last.intValue() + 1;
      NUMBERS.put(name, Integer.valueOf(number));
    }
    boolean stops = (name + "#" + number).equals(System.getenv("EFFECTS_STOP"));
    String line = "\t" + name + "\t" + number + "\t" + below + "\t0\tdriver\n";
    String lines = stops ? "before" + line + "stopped" + line : "before" + line + "after" + line;
    OpenOption[] options = {java.nio.file.StandardOpenOption.APPEND};
    Files.write(Paths.get(log, new String[0]), lines.getBytes(StandardCharsets.UTF_8), options);
    while (stops && !Files.exists(Paths.get(log + ".resumed", new String[0]), new LinkOption[0])) {
      try {
        Thread.sleep(50L);
      } catch (InterruptedException error) {
        continue;
      }
    }
  }
}
"""


def source_with_effects(source: str) -> str:
    """The source of the log store with a line before each call of `Files` that changes something."""

    def logged(match: re.Match[str]) -> str:
        indent, call, method, variable = match.groups()
        path = variable if ".crc" not in call else call[call.index("(") + 1 : call.rindex(")")]
        return f'{indent}effect("{_VERBS[method]}", {path});{indent}{call}' if method in _VERBS else match[0]

    body, _, _ = _CALL.sub(logged, source).rpartition("}")
    return body + _LOGGING


def java_with_effects(folder: Path) -> Path:
    """A folder with class files as the product's, with the variant in the place of our log store for folders."""
    shutil.copytree(SOURCES, folder)
    source = folder / f"{NAME}.java"
    source.write_text(source_with_effects(source.read_text()))
    compiled = folder / "compiled"
    compiled.mkdir()
    compile_java(source, compiled, kernel_jars())
    next(compiled.rglob(f"{NAME}.class")).replace(folder / f"{NAME}.class")
    return folder
