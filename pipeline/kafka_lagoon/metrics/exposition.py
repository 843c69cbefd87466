"""Writes metrics in Prometheus' text format (version 0.0.4).

All are gauges: a job ends, so nothing of it lasts that could count up from one run to the next.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from kafka_lagoon.frozen import frozen

_ESCAPED = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})


@frozen(kw_only=False)
class Metric:
    """Name and meaning of a metric, and the names of its labels."""

    name: str
    meaning: str
    labels: tuple[str, ...] = ()


@frozen(kw_only=False)
class Sample:
    """A value of a metric; `labels` are in the order of the metric's label names. A label without a value is left out."""

    metric: Metric
    labels: Sequence[str | None]
    value: float


def exposition(samples: Iterable[Sample]) -> str:
    """The text of a file: the samples of each metric together, as the format demands."""
    by_metric: defaultdict[Metric, list[Sample]] = defaultdict(list)
    for sample in samples:
        by_metric[sample.metric].append(sample)
    return "".join(f"{line}\n" for metric, some in by_metric.items() for line in _lines(metric, some))


def _lines(metric: Metric, samples: Iterable[Sample]) -> Iterator[str]:
    yield f"# HELP {metric.name} {metric.meaning}"
    yield f"# TYPE {metric.name} gauge"
    for sample in samples:
        yield f"{metric.name}{_labels(sample)} {_number(sample.value)}"


def _labels(sample: Sample) -> str:
    pairs = zip(sample.metric.labels, sample.labels, strict=True)
    given = ",".join(f'{name}="{_text(value)}"' for name, value in pairs if value is not None)
    return f"{{{given}}}" if given else ""


def _text(value: str) -> str:
    r"""The value of a label in UTF-8. Other bytes are escaped as in the tables, `\xff`."""
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace").translate(_ESCAPED)


def _number(value: float) -> str:
    """Write whole numbers in full, because `repr` of a float rounds lags and times."""
    return repr(value) if isinstance(value, float) and not value.is_integer() else str(int(value))
