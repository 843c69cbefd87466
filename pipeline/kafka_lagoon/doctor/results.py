"""The result of one check of `lagoon doctor`, and how a check that breaks becomes a result itself."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from kafka_lagoon.errors import ConfigError, PipelineError

OK, WARNING, FAILED, NOT_CHECKED = STATUSES = ("ok", "warning", "failed", "not_checked")


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What one check observed about one subject; `to_do` is None where there is nothing to do, or the observation says it."""

    check: str
    subject: str
    status: str
    observed: str
    to_do: str | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """A check of one subject: makes its results."""

    name: str
    subject: str

    def ok(self, observed: str) -> Result:
        """Everything is as it should be."""
        return Result(check=self.name, subject=self.subject, status=OK, observed=observed)

    def warning(self, observed: str, to_do: str) -> Result:
        """It works now, and may not always."""
        return Result(check=self.name, subject=self.subject, status=WARNING, observed=observed, to_do=to_do)

    def failed(self, observed: str, to_do: str | None = None) -> Result:
        """It does not work."""
        return Result(check=self.name, subject=self.subject, status=FAILED, observed=observed, to_do=to_do)

    def not_checked(self, observed: str, to_do: str | None = None) -> Result:
        """Nothing is known, and why."""
        return Result(check=self.name, subject=self.subject, status=NOT_CHECKED, observed=observed, to_do=to_do)


def run_alone(check: Check, make: Callable[[], Iterable[Result]]) -> Iterator[Result]:
    """The results of a check; whatever keeps it from running is its result, so that the other checks run."""
    try:
        yield from make()
    except PipelineError as error:
        lines = error.problems if isinstance(error, ConfigError) else [str(error)]
        yield from (check.failed(_one_line(line)) for line in lines)
    except ImportError as error:
        package = (error.name or str(error)).partition(".")[0]
        yield check.not_checked(f"{package} is not installed, or does not load", "pip install 'kafka-lagoon[all]'")
    except OSError as error:
        yield check.failed(_one_line(f"{error.filename or ''} {error.strerror or error}"))
    except Exception as error:  # noqa: BLE001  a doctor must not die of what it looks for
        # Its words may hold anything: a password, too.
        yield check.failed(f"the check broke: {type(error).__name__}", "please report this as a fault of Kafka Lagoon")


def _one_line(text: str) -> str:
    return " ".join(text.split())
