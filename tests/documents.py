"""README, the pages in docs/, and their generated parts: tables, settings, permissions, metrics and the event that ends a run.

`python -m tests.documents` writes the generated parts; a test compares.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from kafka_lagoon.cli.outcome import JOBS, event_fields
from kafka_lagoon.cli.permissions import REQUIRED_PERMISSIONS, Requirement
from kafka_lagoon.delta.schema import TABLES
from kafka_lagoon.delta.views import VIEWS
from kafka_lagoon.kafka_settings import KafkaSettings
from kafka_lagoon.settings import SECTIONS, Settings
from tests.metrics.monitoring_files import METRICS

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
PAGES = ROOT / "docs"


def page(name: str) -> str:
    """The text of docs/NAME.md."""
    return (PAGES / f"{name}.md").read_text("utf-8")


def documents() -> dict[str, str]:
    """README and the pages of docs/: path below the top folder -> text."""
    paths = [README, *sorted(PAGES.rglob("*.md"))]
    return {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in paths}


def blocks(text: str, language: str = r"\w*") -> list[str]:
    """The blocks of code of a document, those of one language or all."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def table_dictionary() -> str:
    """Every table and view with its columns."""
    return "\n".join([*_tables(), *_views()])


def _tables() -> Iterator[str]:
    for table in TABLES:
        yield f"\n<details><summary><code>{table.name}</code>: {_cell(table.comment)}</summary>\n"
        yield "| column | type | meaning |\n|---|---|---|"
        for column in table.columns:
            yield f"| `{column.name}` | {_cell(column.sql_type())} | {_cell(column.comment)} |"
        yield "\n</details>"


def _views() -> Iterator[str]:
    yield "\n| view | what it shows |\n|---|---|"
    for view in VIEWS:
        yield f"| `{view.name}` | {_cell(view.comment)} |"


def settings_table() -> str:
    """Every setting with its default."""
    lines = ["| setting | default | meaning |", "|---|---|---|"]
    lines += [f"| `{key}` | {default} | {_cell(meaning)} |" for key, default, meaning in _settings()]
    return "\n".join(lines)


def _settings() -> Iterator[tuple[str, str, str]]:
    """Name, default and meaning of each."""
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
    """Every form of a command with the least permissions that it needs, and what each is for."""
    lines = ["| command | required permissions, and what happens without each | remark |", "|---|---|---|"]
    return "\n".join(
        [*lines, *(f"| `{name}` | {_permissions(one)} | {one.remark} |" for name, one in REQUIRED_PERMISSIONS.items())]
    )


def _permissions(requirement: Requirement) -> str:
    return "<br>".join(f"**{one}**: {one.without}" for one in requirement.permissions) or "none"


def events_table() -> str:
    """Every field of the event that ends a run."""
    lines = ["| field | in events of | meaning |", "|---|---|---|"]
    for field in event_fields():
        jobs = field.metadata["jobs"]
        lines.append(f"| `{field.name}` | {'all' if jobs == JOBS else ', '.join(jobs)} | {field.metadata['meaning']} |")
    return "\n".join(lines)


def metrics_table() -> str:
    """Every metric with its labels."""
    lines = ["| metric | labels | meaning |", "|---|---|---|"]
    for metric in METRICS.values():
        labels = ", ".join(f"`{label}`" for label in metric.labels)
        lines.append(f"| `{metric.name}` | {labels} | {_cell(metric.meaning)} |")
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


# The name of a generated part -> what makes it.
GENERATED: Mapping[str, Callable[[], str]] = {
    "tables": table_dictionary,
    "settings": settings_table,
    "permissions": permissions_table,
    "events": events_table,
    "metrics": metrics_table,
}


def parts_of(text: str) -> list[str]:
    """Names of the generated parts of a document."""
    return re.findall(r"^<!-- (\w+): generated -->$", text, re.MULTILINE)


def renewed(text: str) -> str:
    """A document with its generated parts as they ought to be."""
    for name in parts_of(text):
        pattern = rf"(<!-- {name}: generated -->\n).*?(\n<!-- end of {name} -->)"
        text, count = re.subn(pattern, lambda m, made=GENERATED[name]: m[1] + made() + m[2], text, flags=re.DOTALL)
        assert count == 1, name
    return text


if __name__ == "__main__":
    for path, text in documents().items():
        (ROOT / path).write_text(renewed(text), "utf-8")
