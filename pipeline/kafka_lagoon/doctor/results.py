"""The result of one check of `lagoon doctor`, and how a check that breaks becomes a result itself."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from kafka_lagoon.errors import ConfigError, PipelineError
from kafka_lagoon.frozen import frozen

# Every check by its name, with its line in docs/doctor.md; names with the same line share it.
CHECKS: Mapping[str, str] = {
    **dict.fromkeys(
        ("python", "java"),
        "versions: Python 3.11 to 3.13 and Java 17 to 25 are tested. A newer version is a warning, an older version fails",
    ),
    "spark": "whether PySpark of this environment, or of `SPARK_HOME`, is the release that Delta's jars are for",
    "packages": "each extra of the package: missing packages, and versions that it does not allow",
    "jars": "Delta's jars beside Spark's, or in the cache: all there, no other revision, SHA-256 as locked",
    "kernels": "whether the decoder is compiled for this machine, so that no run waits ten seconds for it",
    "class archive": "whether a JVM starts from the archive",
    "settings": "every fault of the settings, as each command would list it",
    "secrets": "whether each `env:` and `file:` reference can be resolved, and whether others can read a conf file with "
    "secrets. No value is ever printed",
    "connection": "each bootstrap server, then each broker at the address that it advertises: name, TCP, TLS (chain and host "
    "name), ApiVersions, SASL; the release",
    "cluster id": "a warning where two names of the settings are one cluster, whose history would be written twice",
    "certificate": "when the first certificate of each broker's chain expires, and the client's own: a warning from 30 days "
    "before",
    "clock": "the difference between this machine's clock and the active controller's: a warning above 5 seconds",
    "permissions": "whether brokers allow [what the jobs need](permissions.md)",
    "warehouse": "whether a file, and the tables and locks of earlier runs, can be written; if the folder does not exist, "
    "whether the first run could create it",
    "commits": "two processes race for a lock as commits take it, twenty times each",
    "locks": "which runs hold a lock of the warehouse now",
    "archive": "whether any offset is archived more than once, as by earlier versions after a broker had denied a topic; view "
    "`records_now` leaves the copies out",
    "disk": "free space and inodes of the warehouse, the folder for temporary files and the cache",
    **dict.fromkeys(
        ("session", "executors", "executor"),
        "with `--executors`: whether Spark starts, whether executors import the same version on the same Python, and whether "
        "they reach each broker and the warehouse",
    ),
}
OK, WARNING, FAILED, NOT_CHECKED = STATUSES = ("ok", "warning", "failed", "not_checked")


@frozen
class Result:
    """The observation of a check about a subject; `to_do` is None if nothing has to be done, or if the observation says it."""

    check: str
    subject: str
    status: str
    observed: str
    to_do: str | None = None


@frozen(kw_only=False)
class Check:
    """A check of one subject: makes its results."""

    name: str
    subject: str

    def ok(self, observed: str) -> Result:
        """A result without a fault."""
        return Result(check=self.name, subject=self.subject, status=OK, observed=observed)

    def warning(self, observed: str, to_do: str) -> Result:
        """A result that works now but may fail later."""
        return Result(check=self.name, subject=self.subject, status=WARNING, observed=observed, to_do=to_do)

    def failed(self, observed: str, to_do: str | None = None) -> Result:
        """A result that does not work."""
        return Result(check=self.name, subject=self.subject, status=FAILED, observed=observed, to_do=to_do)

    def not_checked(self, observed: str, to_do: str | None = None) -> Result:
        """A result that is unknown, and the reason."""
        return Result(check=self.name, subject=self.subject, status=NOT_CHECKED, observed=observed, to_do=to_do)


def run_alone(check: Check, make: Callable[[], Iterable[Result]]) -> Iterator[Result]:
    """Run a check; an error becomes its result, so that the other checks run."""
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
