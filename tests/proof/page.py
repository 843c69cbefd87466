"""Writes the figures of the parts into docs/proof.md: a table with a row per part, and at the end of the page a list per part."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.proof.figures import Figures

VIOLATIONS = ("lost", "doubled", "altered", "silent")  # columns of their own
HEAD = (
    f"| part | tried | {' | '.join(VIOLATIONS)} | other violations | longest recovery | minutes |",
    f"|---|---|{'---|' * len(VIOLATIONS)}---|---|---|",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """The row and the list of a part, in Markdown."""

    row: str
    details: str


def entry(part: str, figures: Figures, headline: Sequence[str], *, minutes: float, runs: str) -> Entry:
    """Make the row and the list. The row has only those figures of what was tried that the headline names, if it names any."""
    violations = figures.violations
    others = {name: count for name, count in violations.items() if count and name not in VIOLATIONS}
    looked_for_others = any(name not in VIOLATIONS for name in violations)
    cells = (
        part,
        _counted({name: figures.tried[name] for name in headline if name in figures.tried} or figures.tried),
        *(f"{violations[name]:,}" if name in violations else "" for name in VIOLATIONS),
        _counted(others) or ("0" if looked_for_others else ""),
        "" if figures.longest_recovery_s is None else f"{figures.longest_recovery_s:.0f} s",
        f"{minutes:.0f}",
    )
    groups = {"tried": figures.tried, "violations": violations, **_by_prefix(figures.happened)}
    items = [f"- {name}: {_counted(counts)}" for name, counts in groups.items() if counts]
    return Entry(row=f"| {' | '.join(cells)} |", details="\n".join((f"**{part}**: {runs}", "", *items)))


def with_entries(page: str, section: str, entries: Mapping[str, Entry], headlines: Mapping[str, Sequence[str]]) -> str:
    """The page with these entries, by part, in a section; entries of other parts stay, in the order of the headlines."""
    there = _entries(_between(page, section)[1], _between(page, _lists(section))[1], headlines)
    ordered = [(there | entries)[part] for part in headlines if part in there or part in entries]
    page = _replaced(page, section, [*HEAD, *(one.row for one in ordered)])
    return _replaced(page, _lists(section), ["", *(f"{one.details}\n" for one in ordered)])


def _entries(table: str, lists: str, headlines: Mapping[str, Sequence[str]]) -> dict[str, Entry]:
    """The entries of a section, by part."""
    texts = re.findall(r"^(\*\*(.+?)\*\*: .*?)\n*(?=^\*\*|\Z)", lists, re.DOTALL | re.MULTILINE)
    details = {part: text for text, part in texts}
    entries = {}
    for row in table.splitlines():
        cells = [cell.strip() for cell in row.strip("|").split(" | ")]
        if cells[0] in headlines:
            entries[cells[0]] = Entry(row=row, details=details[cells[0]])
    return entries


def _by_prefix(happened: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """Faults that happened, without zeros; names like `ingest: driver killed` are grouped by what is before the colon."""
    groups: dict[str, dict[str, int]] = {"happened": {}}
    for name, count in happened.items():
        before, colon, after = name.partition(": ")
        if count:
            groups.setdefault(before if colon else "happened", {})[after or name] = count
    return groups


def _counted(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in numbers.items())


def _lists(section: str) -> str:
    return f"lists of {section}"


def _between(page: str, section: str) -> re.Match[str]:
    """The text between the comments that begin and end a section."""
    marked = re.search(rf"<!-- {section} -->\n(.*?)<!-- end of {section} -->", page, re.DOTALL)
    if marked is None:
        raise ValueError(f"docs/proof.md has no section {section}")
    return marked


def _replaced(page: str, section: str, lines: Sequence[str]) -> str:
    marked = _between(page, section)
    return page[: marked.start(1)] + "".join(f"{line}\n" for line in lines) + page[marked.end(1) :]
