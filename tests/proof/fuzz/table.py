"""Lists the targets: code of ours that reads bytes or text that others wrote.

A target is a function of bytes in a module of `targets/`, which catches the errors that the code's docstrings declare and nothing else.
The function `NAME_seeds` makes valid inputs, from which the search starts beside the corpus.
"""

import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

LONGEST = 64 << 10
CORPUS = Path(__file__).with_name("corpus")


@dataclass(frozen=True, kw_only=True)
class Target:
    """A target, and the module of `targets/` that has its functions."""

    name: str
    module: str
    about: str
    longest: int = LONGEST  # bytes of an input

    def load(self) -> tuple[Callable[[bytes], object], Callable[[], Iterable[bytes]]]:
        """Import the target's function and that of its seeds. Not earlier: a search instruments what it imports.

        A seed is run: libraries that load with the first input would count as its memory.
        """
        module = importlib.import_module(f"tests.proof.fuzz.targets.{self.module}")
        run, seeds = getattr(module, self.name), getattr(module, f"{self.name}_seeds")
        run(next(iter(seeds())))
        return run, seeds

    @property
    def corpus(self) -> Path:
        """The folder of inputs that are kept."""
        return CORPUS / self.name


def _targets(module: str, longest: int = LONGEST, **about: str) -> list[Target]:
    return [Target(name=name, module=module, about=line, longest=longest) for name, line in about.items()]


TARGETS = {
    target.name: target
    for target in (
        *_targets(
            "wire",
            responses="frames of responses, header and body: every API in every version",
            streams="bytes of a connection, split into frames",
            members="subscriptions and assignments of consumers",
            coordinators="records of __consumer_offsets and __transaction_state",
        ),
        *_targets(
            "answers",
            answers="verbs, plans and snapshots of a cluster that gives one response of these bytes",
            progress="metadata of committed offsets, where a stream keeps its progress",
        ),
        *_targets(
            "records",
            batches="fetched bytes of every magic: all decoders",
            sealed_batches="the same with correct lengths and checksums, compressed, or compared with the reference decoder",
            codecs="compressed data of every codec, snappy-java's streams too",
            record_values="keys, values and headers as text and JSON; lines of `produce --json`",
        ),
        *_targets(
            "logins",
            scram="a broker's messages of SCRAM",
            oauthbearer="a broker's refusal of a token, and extensions",
            token_endpoint="the HTTP response of a token endpoint",  # noqa: S106  words about it
        ),
        *_targets(
            "texts",
            jaas="sasl.jaas.config",
            properties="client.properties",
            settings="settings in TOML, and overrides of them",
            certificates="PEM and PKCS12 files of certificates, keys and revocations",
            words="times, offsets, addresses and thresholds, as people write them",
        ),
        *_targets(
            "documents",
            desired_toml="a desired state in TOML",
            desired_yaml="a desired state in YAML",
            desired_table="a desired state in rows of a table",
        ),
        *_targets(
            "tables",
            commits="commits in the log of a Delta table, and actions in them",
            delta_log="a Delta table whose log has these commits, for DuckDB",
            stored_states="next offsets, plans and progress of restores, reports and offsets of streams that are stored as JSON",
        ),
        *_targets(
            "statements",
            longest=8 << 10,
            sql="SQL that `lagoon sql` refuses or runs",
            conditions="conditions on records of a restore",
        ),
    )
}
