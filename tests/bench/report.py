"""Writes findings as a Markdown table and a JSON file."""

import dataclasses
import json
import os
import platform
import re
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.bench.measure import Comparison, Findings

_UNITS = {"wall_s": "s", "cpu_s": "CPU s"}


def machine() -> str:
    """Describe the machine in one line."""
    cpu = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    java = subprocess.run(["java", "-version"], capture_output=True, text=True, check=True).stderr
    version = re.search(r'version "([^"]+)"', java)
    return (
        f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores of {cpu[1] if cpu else platform.processor()}, "
        f"{gib:.0f} GiB, {platform.system()}, Python {platform.python_version()}, Java {version[1] if version else '?'}"
    )


def markdown(findings: Mapping[str, Findings]) -> str:
    """Format the table of all comparisons, and the notes below it."""
    lines = [
        "| what | Kafka Lagoon: median (best) | compared with | median (best) | ratio of medians (of best) |",
        "|---|---|---|---|---|",
        *(_line(one) for found in findings.values() for one in found.comparisons),
    ]
    notes = [f"- {note}" for found in findings.values() for note in found.notes]
    tables = [f"{table}\n" for found in findings.values() for table in found.tables]
    return "\n".join([*lines, "", *tables, *notes])


def _line(comparison: Comparison) -> str:
    by_median, by_best = comparison.ratios()
    unit = _UNITS[comparison.measure]
    ours, theirs = (
        f"{comparison.median(s):.3g} {unit} ({comparison.best(s):.3g})" for s in (comparison.ours, comparison.theirs)
    )
    return f"| {comparison.what} | {ours} | {comparison.peer} | {theirs} | {by_median:.2f} ({by_best:.2f}) |"


def write_json(path: Path, findings: Mapping[str, Findings], load: Mapping[str, float]) -> None:
    """Write every sample, with ratios, machine, and the load average at the start of each benchmark."""
    path.parent.mkdir(parents=True, exist_ok=True)
    benchmarks = {
        name: {
            "load": load[name],
            "comparisons": list(_plain(one)),
            "notes": list(one.notes),
            "tables": list(one.tables),
        }
        for name, one in findings.items()
    }
    path.write_text(json.dumps({"machine": machine(), "benchmarks": benchmarks}, indent=1) + "\n")


def _plain(findings: Findings) -> Iterator[dict[str, object]]:
    for comparison in findings.comparisons:
        by_median, by_best = comparison.ratios()
        yield {**dataclasses.asdict(comparison), "ratio_of_medians": by_median, "ratio_of_best": by_best}
