"""What `lagoon kafka` promises for every verb: a quick start, readable faults, and exit codes."""

import subprocess
import sys

import pytest

from pipeline.cli.kafka.run import VERBS, run
from tests.clock import CLOCK

_HEAVY = ("pyspark", "pyarrow", "numba", "numpy", "rich")


def test_no_verb_that_reads_state_imports_what_is_heavy():
    """Importing every verb of cluster state imports neither Spark nor anything that decodes records."""
    reading = [name.replace("-", "_") for name in VERBS if name not in ("fetch", "produce")]
    modules = "; ".join(f"import pipeline.cli.kafka.{name}" for name in [*reading, "arguments", "output"])
    code = f"import sys, pipeline.cli.main; {modules}; print([one for one in {_HEAVY} if one in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_help_names_every_verb(capsys: pytest.CaptureFixture[str]):
    """`lagoon kafka --help` lists all verbs on standard output; no verb at all is a fault, told on standard error."""
    assert run(["--help"], {}, CLOCK) == 0
    helped = capsys.readouterr()
    assert run([], {}, CLOCK) == 2
    refused = capsys.readouterr()
    assert all(f"\n  {name}" in helped.out for name in VERBS)
    assert (refused.out, refused.err) == ("", helped.out)


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        ([], "no cluster: set kafka.bootstrap_servers, or [clusters.NAME]"),
        (["-b", "nonsense"], "kafka.bootstrap_servers: 'nonsense' is not host:port"),
        (
            ["--set", "clusters.a.bootstrap_servers=a:1", "--set", "clusters.b.bootstrap_servers=b:1"],
            "several clusters: choose one by --cluster (a, b)",
        ),
    ],
)
def test_faults_of_arguments_are_one_line_each(argv: list[str], line: str, capsys: pytest.CaptureFixture[str]):
    """What is wrong with arguments or settings is said before anything is asked, and the exit code is 2."""
    code = run(["versions", *argv], {}, CLOCK)
    told = capsys.readouterr()
    assert (code, told.out, told.err) == (2, "", f"lagoon: {line}\n")


def test_a_cluster_that_does_not_answer_is_one_line(capsys: pytest.CaptureFixture[str]):
    """Exit 1 and the address with its refusal."""
    assert run(["versions", "-b", "127.0.0.1:1"], {}, CLOCK) == 1
    assert capsys.readouterr().err == "lagoon: 127.0.0.1:1: connect: Connection refused\n"
