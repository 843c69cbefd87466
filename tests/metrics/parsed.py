"""Reads metrics with the parser of Prometheus' Python client, the oracle of our text."""

from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

Labels = frozenset[tuple[str, str]]


def parsed(text: str) -> dict[tuple[str, Labels], float]:
    """Return every sample by name and labels; each may exist once, and each metric has its help and is a gauge."""
    samples: dict[tuple[str, Labels], float] = {}
    for family in text_string_to_metric_families(text):
        assert family.type == "gauge", family.name
        assert family.documentation, family.name
        for sample in family.samples:
            key = sample.name, frozenset(sample.labels.items())
            assert key not in samples, key
            samples[key] = sample.value
    return samples


def in_file(path: Path) -> dict[tuple[str, Labels], float]:
    """Return the samples of a file."""
    return parsed(path.read_text("utf-8"))


def value(samples: dict[tuple[str, Labels], float], name: str, **labels: str) -> float | None:
    """Return one sample; None if it is missing."""
    return samples.get((name, frozenset(labels.items())))
