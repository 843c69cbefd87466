"""Arguments of the verbs about brokers; tests on real brokers are in integration/test_admin_moves.py."""

import pytest

from tests.cli.admin.faults import faults


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (("add-voter", "3", "--listener", "k3:9093"), "'k3:9093' is not NAME://host:port"),
        (("add-voter", "3"), "the following arguments are required: --listener"),
        (("remove-voter", "-3"), "'-3'"),
        (("remove-voter", "3", "--directory-id", "d"), "'d' is not the id of a directory"),
        (("unregister-broker", "three"), "'three' is not a whole number from 0 on"),
        (("update-feature", "metadata.version=4.1-IV0"), "is not FEATURE=LEVEL, and a level is a number"),
        (("update-feature", "group.version=32768"), "has a level above 32767"),
        (("update-feature", "group.version=1", "group.version=0"), "group.version: named twice"),
    ],
)
def test_faults_of_one_argument(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], fault: str) -> None:
    """A line names the fault before anything is connected."""
    (line,) = faults(capsys, *arguments)
    assert fault in line
