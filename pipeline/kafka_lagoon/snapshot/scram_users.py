"""Makes rows of users with SCRAM credentials: mechanisms and iterations, no salts and no keys."""

from collections.abc import Iterable, Iterator

from kafka_lagoon.admin.permissions import Permission
from kafka_lagoon.admin.scram import describe_scram_users, undescribed_users
from kafka_lagoon.client.failures import Failure
from kafka_lagoon.protocol.acls import CLUSTER, DESCRIBE
from kafka_lagoon.protocol.error_codes import error_code
from kafka_lagoon.protocol.messages.describe_user_scram_credentials import (
    DESCRIBE_USER_SCRAM_CREDENTIALS,
    SCRAM_MECHANISMS,
    DescribeUserScramCredentialsResult,
    ScramCredentialInfo,
)
from kafka_lagoon.snapshot.collection import Collected, Collection, Collector, Phase
from kafka_lagoon.tables import state_tables
from kafka_lagoon.tables.row_classes import named
from kafka_lagoon.tables.security_rows import ScramUserRow


def scram_user_rows(results: Iterable[DescribeUserScramCredentialsResult]) -> Iterator[ScramUserRow]:
    """One row per user and mechanism, ordered by both."""
    for result in sorted(results, key=lambda result: result.user):
        if result.error_code:
            problem = error_code(result.error_code).name
            yield ScramUserRow(user=result.user, mechanism=None, iterations=None, problem=problem)
        else:
            for info in sorted(result.credential_infos, key=lambda info: info.mechanism):
                yield _scram_user_row(result.user, info)


def _scram_user_row(user: str, info: ScramCredentialInfo) -> ScramUserRow:
    mechanism = named(SCRAM_MECHANISMS, info.mechanism)
    return ScramUserRow(user=user, mechanism=mechanism, iterations=info.iterations, problem=None)


def _collect(collection: Collection) -> Collected:
    results = describe_scram_users(collection.cluster, collection.deadline)
    if isinstance(results, Failure):
        return Collected([], [results])
    # Without a failure, topology_changes would show the user as removed, and as added by the next snapshot.
    return Collected(list(scram_user_rows(results)), list(undescribed_users(results).values()))


SCRAM_USERS = Collector(
    table=state_tables.SCRAM_USERS,
    phase=Phase.DETAILS,
    collect=_collect,
    apis=(DESCRIBE_USER_SCRAM_CREDENTIALS,),
    permissions=(Permission(DESCRIBE, CLUSTER, "the SCRAM users are refused"),),
    required=False,
    may_be_skipped=True,
)
