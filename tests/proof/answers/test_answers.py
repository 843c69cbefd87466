"""No alteration of an answer makes our client state something that is wrong, and tell nobody.

A sample is taken of the answers of fake brokers, which cost no process; all alterations are of the answers of real brokers.
"""

from pathlib import Path

import pytest

from tests.clock import CLOCK
from tests.fake import quorum, resources, security
from tests.fake.answers import SPOKEN
from tests.fake.broker import fake_cluster
from tests.proof.answers.__main__ import main
from tests.proof.answers.indistinguishable import reason_of
from tests.proof.answers.trials import judged, recorded
from tests.proof.answers.verdicts import Verdict
from tests.snapshot.test_collectors import everything

_SAMPLE = {"snapshot": 211, "lag": 211, "metadata": 97, "doctor": 211}


@pytest.mark.proof
def test_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sample has answers of every verdict, and none that is wrong and not declared."""
    for api, answer in (*security.ANSWERS, *quorum.ANSWERS, *resources.ANSWERS):
        monkeypatch.setitem(SPOKEN, api.key, (api, answer))
    state = everything()
    state.faults.clear()
    with fake_cluster(state) as brokers:
        servers = ",".join(f"127.0.0.1:{broker.server_address[1]}" for broker in brokers.values())
        with recorded(servers, CLOCK.now_ms(), list(_SAMPLE)) as recording:
            trials = [one for name, step in _SAMPLE.items() for one in judged(recording, name, step, lambda _: True)]
    verdicts = {one.verdict for one in trials}
    wrong = [str(one.alteration) for one in trials if one.verdict is Verdict.WRONG and not reason_of(one.alteration)]
    assert verdicts == set(Verdict)
    assert wrong == []


@pytest.mark.proof
@pytest.mark.kafka
@pytest.mark.timeout(7_200)
def test_every_alteration(tmp_path: Path) -> None:
    """All alterations of the answers of three real brokers, in every scenario."""
    assert main(["--recording", str(tmp_path / "recording")]) == 0
