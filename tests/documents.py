"""README, the pages in docs/, and their generated parts: tables, settings, permissions, metrics and the event that ends a run.

`python -m tests.documents` writes the generated parts; a test compares.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields
from itertools import groupby
from pathlib import Path
from typing import Any

from kafka_lagoon.cli.outcome import JOBS, event_fields
from kafka_lagoon.cli.permissions import Requirement
from kafka_lagoon.doctor.results import CHECKS
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.query.views import VIEWS, View
from kafka_lagoon.settings import SECTIONS, Settings
from kafka_lagoon.snapshot.collectors import COLLECTORS
from kafka_lagoon.tables.columns import Column
from kafka_lagoon.tables.schema import HEADER, STATE_TABLES, TABLES
from kafka_lagoon.tables.table import Table
from tests.metrics.monitoring_files import METRICS
from tests.permissions import REQUIRED_PERMISSIONS

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
PAGES = ROOT / "docs"


def page(name: str) -> str:
    """Return the text of docs/NAME.md."""
    return (PAGES / f"{name}.md").read_text("utf-8")


def documents() -> dict[str, str]:
    """Return README and the pages of docs/: path below the top folder -> text."""
    paths = [README, *sorted(PAGES.rglob("*.md"))]
    return {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in paths}


def blocks(text: str, language: str = r"\w*") -> list[str]:
    """Return the blocks of code of a document, in one language or all."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def tables() -> str:
    """List every table with links, then the columns of each."""
    listed = (f"| [{table.name}](#{table.name}) | {_cell(table.comment)} |" for table in TABLES)
    shared = ("## Columns of every state table", "", _HEADINGS, *map(_column, _SHARED), "")
    lines = ["| table | rows |", "|---|---|", *listed, "", *shared]
    return "\n".join([*lines, *(line for table in TABLES for line in _table(table))]).rstrip()


_SHARED = (*HEADER, STATE_TABLES[0].columns[-1])  # the first columns of every state table, and its last one
_HEADINGS = "| column | type | meaning |\n|---|---|---|"
_COMMENT = r" COMMENT '((?:[^'\\]|\\.)*)'"


def _table(table: Table) -> Iterator[str]:
    shared = _SHARED if table in STATE_TABLES else ()
    own = [column for column in table.columns if column not in shared]
    yield from (f"## {table.name}", "", _cell(table.comment), "", _HEADINGS, *map(_column, own), "")


def _column(column: Column) -> str:
    """Make the line of a column; fields of structs are explained after the meaning, not within the type."""
    sql_type = column.sql_type()
    parts = re.findall(rf"[<,]\s*(\w+): [^,>']*>?{_COMMENT}", sql_type)
    meaning = " ".join([column.comment, *(f"`{name}`: {text}" for name, text in parts)])
    return f"| `{column.name}` | {_cell(re.sub(_COMMENT, '', sql_type))} | {_cell(meaning)} |"


def when_changed() -> str:
    """List the tables of which most snapshots have no rows of their own."""
    return ", ".join(f"[{table.name}](#{table.name})" for table in TABLES if table.when_changed)


def views() -> str:
    """List every view with links, except those that only show a table's published rows, then the columns of each."""
    shown = [view for view in VIEWS if not view.name.endswith("_published")]
    lines = ["| view | rows |", "|---|---|"]
    lines += [f"| [{view.name}](#{view.name}) | {_cell(view.comment)} |" for view in shown]
    return "\n".join([*lines, "", *(line for view in shown for line in _view(view))]).rstrip()


def _view(view: View) -> Iterator[str]:
    yield from (f"## {view.name}", "", _cell(view.comment), "")
    if view.columns:
        columns = (f"| `{name}` | {_cell(text)} |" for name, text in view.columns)
        yield from ("| column | meaning |", "|---|---|", *columns, "")


def requests_table() -> str:
    """List every state table with the APIs that it is made from."""
    lines = ["| table | made from | can be skipped |", "|---|---|---|"]
    for table in COLLECTORS:
        if table.apis:
            apis = ", ".join(api.name for api in table.apis)
            lines.append(
                f"| [{table.name}](tables.md#{table.name}) | {apis} | {'yes' if table.may_be_skipped else ''} |"
            )
    return "\n".join(lines)


def settings_table() -> str:
    """List every setting with its default, by section."""
    lines: list[str] = []
    for section, some in groupby(_settings(), lambda setting: setting[0].rpartition(".")[0]):
        lines += [f"## [{section}]" if section else "## Where the tables are", ""]
        lines += ["| setting | default | meaning |", "|---|---|---|"]
        lines += [f"| `{key}` | {default} | {_cell(meaning)} |" for key, default, meaning in some]
        lines.append("")
    return "\n".join(lines).rstrip()


def _settings() -> Iterator[tuple[str, str, str]]:
    """Yield name, default and meaning of each setting."""
    for name, field in Settings.model_fields.items():
        if name not in ("kafka", "clusters", *SECTIONS):
            yield str(field.validation_alias or name), _default(field.default), field.description or ""
    for setting in fields(KafkaSettings):
        yield f"kafka.{setting.name}", _default(setting.default), setting.metadata["description"]
    for section, model in SECTIONS.items():
        for name, field in model.model_fields.items():
            yield f"{section}.{name}", _default(field.default), field.description or ""


def _default(value: Any) -> str:
    if value is MISSING:
        return "must be set"
    return "" if value is None else f"`{str(value).lower() if isinstance(value, bool) else value}`"


def permissions_table() -> str:
    """List every form of a command with its least permissions, and the consequence of each missing one."""
    lines = ["| command | required permissions, and what happens without each | remark |", "|---|---|---|"]
    return "\n".join(
        [*lines, *(f"| `{name}` | {_permissions(one)} | {one.remark} |" for name, one in REQUIRED_PERMISSIONS.items())]
    )


def _permissions(requirement: Requirement) -> str:
    return "<br>".join(f"**{one}**: {one.without}" for one in requirement.permissions) or requirement.otherwise


def events_table() -> str:
    """List every field of the event that ends a run."""
    lines = ["| field | in events of | meaning |", "|---|---|---|"]
    for field in event_fields():
        jobs = field.metadata["jobs"]
        lines.append(f"| `{field.name}` | {'all' if jobs == JOBS else ', '.join(jobs)} | {field.metadata['meaning']} |")
    return "\n".join(lines)


def metrics_table() -> str:
    """List every metric with its labels."""
    lines = ["| metric | labels | meaning |", "|---|---|---|"]
    for metric in METRICS.values():
        labels = ", ".join(f"`{label}`" for label in metric.labels)
        lines.append(f"| `{metric.name}` | {labels} | {_cell(metric.meaning)} |")
    return "\n".join(lines)


def doctor_table() -> str:
    """List every check of `lagoon doctor`; checks with the same text share a line."""
    lines = ["| check | how |", "|---|---|"]
    for text in dict.fromkeys(CHECKS.values()):
        names = ", ".join(f"`{name}`" for name, of_name in CHECKS.items() if of_name == text)
        lines.append(f"| {names} | {_cell(text)} |")
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


# name of a generated part -> function that makes it
GENERATED: Mapping[str, Callable[[], str]] = {
    "tables": tables,
    "when_changed": when_changed,
    "views": views,
    "requests": requests_table,
    "settings": settings_table,
    "permissions": permissions_table,
    "events": events_table,
    "metrics": metrics_table,
    "checks": doctor_table,
}


def parts_of(text: str) -> list[str]:
    """Return the names of the generated parts of a document."""
    return re.findall(r"^<!-- (\w+): generated -->$", text, re.MULTILINE)


def renewed(text: str) -> str:
    """Return a document with its generated parts made again."""
    for name in parts_of(text):
        pattern = rf"(<!-- {name}: generated -->\n).*?(\n<!-- end of {name} -->)"
        text, count = re.subn(pattern, lambda m, made=GENERATED[name]: m[1] + made() + m[2], text, flags=re.DOTALL)
        assert count == 1, name
    return text


if __name__ == "__main__":
    for path, text in documents().items():
        (ROOT / path).write_text(renewed(text), "utf-8")
