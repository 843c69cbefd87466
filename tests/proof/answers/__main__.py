"""Alters every answer of real brokers and judges what our client makes of it: `python -m tests.proof.answers --help`."""

import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from tests.clock import CLOCK
from tests.proof.answers.indistinguishable import reason_of
from tests.proof.answers.replay import Recording
from tests.proof.answers.scenarios import SCENARIOS
from tests.proof.answers.state import brokers
from tests.proof.answers.trials import Judged, judged, recorded
from tests.proof.answers.verdicts import Verdict
from tests.proof.figures import Figures
from tests.proof.termination import exit_on_termination

_DECLARED = "indistinguishable"


def main(arguments: Sequence[str]) -> int:
    """Run the alterations that are wanted; the exit code is 1 if any is wrong."""
    parser = ArgumentParser(prog="python -m tests.proof.answers", description=__doc__)
    parser.add_argument("--scenario", action="append", choices=SCENARIOS, help="only this one; may be repeated")
    parser.add_argument("--api", help="only answers of this API")
    parser.add_argument("--step", type=int, default=1, help="only every n-th alteration")
    parser.add_argument("--name", help="only alterations whose name contains this text; shows what they change")
    parser.add_argument("--json", type=Path, help="write the figures into this file")
    parser.add_argument("--recording", type=Path, help="a file to keep the brokers' answers in, or to replay them from")
    options = parser.parse_args(arguments)
    started, counts = monotonic(), Counter[tuple[str, str]]()
    exit_on_termination()
    with ExitStack() as stack:
        recording = _recording(stack, options.recording)
        for trial in _judged(recording, options.scenario or SCENARIOS, options.api, options.step, options.name):
            said = _DECLARED if trial.verdict is Verdict.WRONG and reason_of(trial.alteration) else str(trial.verdict)
            counts[trial.alteration.api, said] += 1
            if said == Verdict.WRONG or options.name:
                print(f"{said}: {trial.alteration}", *trial.lines, sep="\n    ")
    for api in sorted({api for api, _ in counts}):
        print(f"{api}: {_line(Counter({said: n for (of, said), n in counts.items() if of == api}))}")
    total = Counter[str]()
    for (_, said), number in counts.items():
        total[said] += number
    missed, seconds = f"; {recording.missed} requests not recorded" if recording.missed else "", monotonic() - started
    print(f"{_line(total)}; {seconds:.0f} s{missed}")
    _figures(total, seconds).write(options.json)
    return 1 if total[Verdict.WRONG] else 0


def _recording(stack: ExitStack, kept: Path | None) -> Recording:
    if kept and kept.exists():
        return Recording.load(kept)
    servers = stack.enter_context(brokers(Path(stack.enter_context(TemporaryDirectory())) / "kafka"))
    recording = stack.enter_context(recorded(servers, CLOCK.now_ms()))
    if kept:
        recording.save(kept)
    return recording


def _judged(
    recording: Recording, names: Sequence[str], api: str | None, step: int, name: str | None
) -> Iterator[Judged]:
    for scenario in names:
        yield from judged(
            recording,
            scenario,
            step,
            lambda alteration: api in (None, alteration.api) and (name or "") in str(alteration),
        )


def _figures(total: Counter[str], seconds: float) -> Figures:
    """The counts as figures of a part of the proof."""
    happened = {said: total[said] for said in (*(str(one) for one in Verdict if one is not Verdict.WRONG), _DECLARED)}
    violations = {str(Verdict.WRONG): total[str(Verdict.WRONG)]}
    return Figures(
        tried={"altered answers": sum(total.values())}, happened=happened, violations=violations, seconds=seconds
    )


def _line(counts: Counter[str]) -> str:
    said = (*(str(one) for one in Verdict), _DECLARED)
    return f"{sum(counts.values())} alterations: " + ", ".join(f"{counts[one]} {one}" for one in said)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
