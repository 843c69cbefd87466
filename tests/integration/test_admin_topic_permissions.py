"""The permissions in docs/permissions.md of verbs about topics, configs and partitions are sufficient and necessary.

What is refused changes nothing, so a verb is tried with one permission less first, and with all of them then.
"""

import re
from collections.abc import Mapping, Sequence

import pytest

from kafka_lagoon.admin.log_dirs import Replica, replica_places
from kafka_lagoon.protocol import acls
from tests.integration.admin_verbs import Ran, admin
from tests.integration.administered import Administered, soon
from tests.integration.every_broker import wait_until
from tests.integration.secured import LIMITED
from tests.integration.state import produce
from tests.integration.test_admin_permissions import RUN as RUN_OF_OTHERS
from tests.integration.test_admin_permissions import granted
from tests.permissions import REQUIRED_PERMISSIONS

pytestmark = pytest.mark.timeout(300)
TOPIC, GROUP = "allowed", "allowed-group"
NAMES = {acls.TOPIC: TOPIC, acls.GROUP: GROUP, acls.CLUSTER: acls.CLUSTER_NAME}
FEATURE = "eligible.leader.replicas.version"
# Command -> its arguments. Each leaves the state that the next one needs.
RUN: Mapping[str, Sequence[str]] = {
    "admin create-topic": (TOPIC, "--assignment", "0=1,2", "--assignment", "1=2,3"),
    "admin create-partitions": (TOPIC, "--partitions", "3"),
    "admin delete-records": (f"{TOPIC}:0", "--before", "2", "--allow-record-deletion"),
    "admin alter-configs topic": ("topic", TOPIC, "--config", "flush.ms=5"),
    "admin alter-configs group": ("group", GROUP, "--config", "consumer.session.timeout.ms=50000"),
    "admin alter-configs broker": ("broker", "2", "--config", "log.cleaner.threads=2"),
    "admin alter-configs client-metrics": ("client-metrics", "traced", "--config", "interval.ms=20000"),
    "admin reassign": (f"{TOPIC}:0=2,1",),
    "admin elect-leaders": (f"{TOPIC}:0",),
    "admin move-replica": (f"{TOPIC}:1", "--broker", "2", "--to", "OTHER"),
    "admin update-feature": (f"{FEATURE}=0",),
    "admin remove-voter": ("3", "--allow-deletions"),
    "admin add-voter": ("3", "--listener", "LISTENER"),
    "admin delete-topic": (TOPIC, "--allow-deletions"),
}
ELSEWHERE = {
    *(
        "admin unregister-broker",
        "admin cancel-reassignment",
    ),  # test_admin_moves.py: a broker is down, a move is under way
    *("admin renew-token", "admin expire-token"),  # test_admin_security.py: by their owner, who has no permissions
    "admin alter-configs broker-logger",  # brokers of tests have no loggers to set
}


@pytest.mark.parametrize("name", RUN)
def test_permissions_are_enough_and_least(
    administered: Administered, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """With one permission less the exit code shows it and nothing is done; with all of them the verb is carried out."""
    permissions = REQUIRED_PERMISSIONS[name].permissions
    command = [name.split()[1], *(_replaced(administered, word) for word in RUN[name])]

    def run() -> Ran:
        return admin(administered, capsys, *command, user=LIMITED)

    for permission in permissions:
        with granted(administered, [one for one in permissions if one is not permission], NAMES):
            lacking = run()
        assert lacking.exit_code == 1, f"{permission} is not needed"
        assert "AUTHORIZATION_FAILED" in f"{lacking.lines}{lacking.outcomes()}"
    with granted(administered, permissions, NAMES):
        wait_until(lambda: "done" in run().outcomes().values())  # brokers learn of earlier changes a moment later
    if name == "admin create-topic":
        produce(administered.bootstrap_servers, TOPIC, 30)


def _replaced(administered: Administered, word: str) -> str:
    """Return a directory of broker 2 that the replica is not in, or the address of controller 3."""
    if word == "OTHER":
        replica = Replica(TOPIC, 1, 2)
        with administered.cluster() as cluster:
            place = replica_places(cluster, [replica], soon()).answers[replica]
        return next(str(one) for one in administered.kafka.data_folders(2) if str(one) != place.log_dir)
    if word == "LISTENER":
        properties = administered.kafka.data_folders(3)[0].parent.joinpath("server.properties").read_text()
        return re.findall(r"CONTROLLER://127\.0\.0\.1:\d+", properties)[0]
    return word


def test_every_verb_has_its_proof() -> None:
    """Every verb of `lagoon admin` is tried with its permissions."""
    verbs = {name for name in REQUIRED_PERMISSIONS if name.startswith("admin ")}
    assert verbs == {*RUN, *RUN_OF_OTHERS, *ELSEWHERE}


def test_what_was_changed_is_changed_back(administered: Administered, capsys: pytest.CaptureFixture[str]) -> None:
    """The original state is restored for later tests."""
    for words in (
        ("alter-configs", "group", GROUP, "--unset", "consumer.session.timeout.ms"),
        ("alter-configs", "broker", "2", "--unset", "log.cleaner.threads"),
        ("alter-configs", "client-metrics", "traced", "--unset", "interval.ms"),
        ("update-feature", f"{FEATURE}=1"),
    ):
        assert admin(administered, capsys, *words).exit_code == 0
