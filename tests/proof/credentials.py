"""The password of the jobs, which is rotated: brokers refuse the old one from then on, also when a connection authenticates again."""

from itertools import count

from confluent_kafka.admin import ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion

from tests.integration import every_broker
from tests.proof.jobs import PASSWORD, USER

_FEWEST_ITERATIONS = 4_096
_NUMBERS = count()  # brokers outlive a history


class Credentials:
    """The SCRAM credentials of the user of the jobs."""

    def __init__(self, servers: str) -> None:
        self._servers = servers

    def rotate(self) -> str:
        """Set a password that was never set before, and return it when every broker has it."""
        number = next(_NUMBERS)
        # Every password has the first one in it, by which occurrences are found.
        password = f"{PASSWORD}-{number}"
        info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, _FEWEST_ITERATIONS + number)
        every_broker.create_users(self._servers, [UserScramCredentialUpsertion(USER, info, password.encode())])
        return password
