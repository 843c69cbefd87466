"""Finds words of `words.txt` that this project does not use: in prose, identifiers, messages, SQL and file names.

    python -m tests.words [PATH...]     files or folders; without any, everything that is checked

It knows what a spelling checker does not: parts of identifiers, phrases over the end of a line, and how a module begins.
"""

import ast
import itertools
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path

ROOT = Path(__file__).parent.parent
LIST = Path(__file__).with_name("words.txt")
CHECKED = ("pipeline", "jobs", "tests", "conf", "docs", "README.md", "CONTRIBUTING.md", "Makefile")
_SUFFIXES = (".py", ".sql", ".md", ".toml", ".conf", ".yml", ".properties", "Makefile")
_OK = "words: ok"
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_BETWEEN = re.compile(r"[\s_#'`*\"-]*")  # characters between two words of a phrase
_FORMULA = re.compile(r"\bin[,;]\s[^.]*?\bout\b(?!\s+of\b)|\bout[,;]\s[^.]*?\bin\b(?=[,.;])")


@dataclass(frozen=True)
class Finding:
    path: str
    line: int
    words: str
    instead: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: `{self.words}`: {self.instead}"


@dataclass(frozen=True)
class Vocabulary:
    everywhere: Mapping[tuple[str, ...], str]
    names: Mapping[str, str]
    bound: Mapping[str, str]
    allowed: Mapping[tuple[str, str], str] = field(default_factory=dict)
    by_first: Mapping[str, Sequence[tuple[str, ...]]] = field(default_factory=dict)


def vocabulary(text: str) -> Vocabulary:
    """Parse the list of words."""
    sections: dict[str, dict[str, str]] = {"everywhere": {}, "names": {}, "bound": {}, "allowed": {}}
    section = sections["everywhere"]
    for line in text.splitlines():
        if line.startswith("["):
            section = sections[line.strip("[]")]
        elif section is sections["allowed"] and line and not line.startswith("#"):
            entry, _, reason = line.partition(" (")
            section[entry] = reason
        elif line and not line.startswith("#"):
            words, _, instead = line.partition(" -> ")
            section.update(dict.fromkeys(words.split(", "), instead))
    everywhere = {tuple(words.split()): instead for words, instead in sections["everywhere"].items()}
    by_first: dict[str, list[tuple[str, ...]]] = {}
    for phrase in everywhere:
        by_first.setdefault(phrase[0], []).append(phrase)
    allowed = {tuple(entry.split(": ", 1)): reason for entry, reason in sections["allowed"].items()}
    return Vocabulary(everywhere, sections["names"], sections["bound"], allowed, by_first)


def findings(path: str, text: str, words: Vocabulary) -> list[Finding]:
    """Return the unwanted words of one file."""
    lines = text.splitlines()
    places = [*_phrases(path, text, words)]
    places += [Finding(path, 1, part, words.everywhere[part,]) for part in _parts(path) if (part,) in words.everywhere]
    if path.endswith(".py"):
        places += [*_opening(path, text), *_names(path, text, words), *_bindings(path, text, words)]
    kept = {each for each in places if each.line > len(lines) or _OK not in lines[each.line - 1]}
    return sorted(kept, key=lambda each: (each.line, each.words))


def _parts(name: str) -> list[str]:
    return [part.lower() for part in _WORD.findall(name)]


def _phrases(path: str, text: str, words: Vocabulary) -> Iterator[Finding]:
    tokens = [(match.group().lower(), *match.span()) for match in _WORD.finditer(text)]
    for index, (word, start, _) in enumerate(tokens):
        for phrase in words.by_first.get(word, ()):
            rest = tokens[index : index + len(phrase)]
            joined = all(
                _BETWEEN.fullmatch(text, this[2], following[1]) for this, following in itertools.pairwise(rest)
            )
            if tuple(each[0] for each in rest) == phrase and joined:
                yield Finding(path, text.count("\n", 0, start) + 1, " ".join(phrase), words.everywhere[phrase])


def _opening(path: str, text: str) -> Iterator[Finding]:
    docstring = ast.get_docstring(ast.parse(text)) or ""
    if _FORMULA.search(docstring.split("\n\n", maxsplit=1)[0]):
        yield Finding(path, 1, "... in, ... out", "a sentence that says what the module does")


def _names(path: str, text: str, words: Vocabulary) -> Iterator[Finding]:
    for token in tokenize.generate_tokens(StringIO(text).readline):
        if token.type == tokenize.NAME and not token.string.startswith("test_"):
            for part in _parts(token.string):
                if part in words.names:
                    yield Finding(path, token.start[0], token.string, words.names[part])


def _bindings(path: str, text: str, words: Vocabulary) -> Iterator[Finding]:
    tree = ast.parse(text)
    comprehensions = [node for node in ast.walk(tree) if isinstance(node, ast.comprehension)]
    short = {name for comprehension in comprehensions for name in ast.walk(comprehension.target)}
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            name, line = node.arg, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node not in short:
            name, line = node.id, node.lineno
        elif isinstance(node, ast.ClassDef | ast.FunctionDef):
            name, line = node.name, node.lineno
        else:
            continue
        name = name.lower()
        if name.lstrip("_") in words.bound:
            yield Finding(path, line, name, words.bound[name.lstrip("_")])


def checked_files(paths: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the files of these paths that Git knows or would add, with their text."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", *paths]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in sorted({*listed.split("\0")}):
        path = ROOT / name
        if name.endswith(_SUFFIXES) and path.is_file() and path.name not in {LIST.name, "test_words.py"}:
            yield name, path.read_text(encoding="utf-8")


def main(paths: Sequence[str]) -> int:
    words = vocabulary(LIST.read_text(encoding="utf-8"))
    chosen = [Path(path).resolve().relative_to(ROOT.resolve()).as_posix() for path in paths] or CHECKED
    all_findings = [each for name, text in checked_files(chosen) for each in findings(name, text, words)]
    refused = [each for each in all_findings if (each.path, each.words) not in words.allowed]
    for each in refused:
        print(each)
    stale = [] if paths else sorted(set(words.allowed) - {(each.path, each.words) for each in all_findings})
    for path, word in stale:
        print(f"{LIST.name}: {path} no longer says `{word}`: remove the line")
    return 1 if refused or stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
