"""Every state table is declared once, collected, filled and tested; APIs that a cluster does not offer are in `coverage`."""

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from kafka_lagoon import snapshot
from kafka_lagoon.client.cluster import Cluster
from kafka_lagoon.client.request_stats import RequestStats
from kafka_lagoon.clock import Deadline
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.job_settings import SnapshotSettings
from kafka_lagoon.owners import PAUSED, Expectation, Owners
from kafka_lagoon.protocol.error_codes import (
    CLUSTER_AUTHORIZATION_FAILED,
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED,
    SECURITY_DISABLED,
)
from kafka_lagoon.protocol.messages.api_versions import API_VERSIONS, SupportedFeature
from kafka_lagoon.protocol.messages.describe_acls import (
    DESCRIBE_ACLS,
    AclDescription,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from kafka_lagoon.protocol.messages.describe_delegation_token import (
    DESCRIBE_DELEGATION_TOKEN,
    DescribeDelegationTokenResponse,
)
from kafka_lagoon.protocol.messages.describe_log_dirs import DESCRIBE_LOG_DIRS
from kafka_lagoon.protocol.messages.describe_quorum import QuorumPartition, QuorumReplica
from kafka_lagoon.snapshot.acls import ACLS
from kafka_lagoon.snapshot.collect import STEPS, collect
from kafka_lagoon.snapshot.collection import Collector, Phase
from kafka_lagoon.snapshot.collectors import COLLECTORS, required_permissions, skipped_tables
from kafka_lagoon.snapshot.coverage import SKIPPED
from kafka_lagoon.snapshot.quotas import QUOTAS
from kafka_lagoon.tables.security_rows import AclRow, ScramUserRow
from kafka_lagoon.tables.snapshot_rows import CollectionFailureRow, CoverageRow, Snapshot
from kafka_lagoon.tables.table_states import StoredTable
from tests.clock import CLOCK
from tests.fake import quorum, resources, security
from tests.fake.answers import SPOKEN
from tests.fake.broker import fake_cluster
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Close, Fault
from tests.fake.oddities import altered, every_shape
from tests.nulls import unexplained_of
from tests.security_samples import quotas, scram_user, token
from tests.short_timeouts import short_timeouts
from tests.snapshot.test_scram_users import UNACCEPTABLE_CREDENTIAL

Speak = Callable[[Any, Callable[[], Any]], None]


@pytest.fixture
def speak(monkeypatch: pytest.MonkeyPatch) -> Speak:
    """Make the fake brokers answer one more API."""

    def teach(api: Any, answer: Callable[[], Any]) -> None:
        monkeypatch.setitem(SPOKEN, api.key, (api, lambda *_: answer()))

    return teach


def captured(state: FakeCluster, *skipped: Collector, stored: Mapping[str, StoredTable] | None = None) -> Snapshot:
    with fake_cluster(state):
        deadline = Deadline.after(CLOCK, 8_000)
        with Cluster.connect(short_timeouts(state), CLOCK, RequestStats(), deadline) as cluster:
            return collect(
                cluster,
                "test",
                1_000,
                deadline,
                lambda _step, _items: None,
                skipped,
                stored=stored,
                owners=Owners(topics={".*": "a team"}, expected={".*": Expectation(hours=PAUSED)}),
            )


def visibility_of_topics(taken: Snapshot) -> str | None:
    (visibility,) = {row.visibility for row in taken.of(CoverageRow) if row.api == "Metadata"}
    return visibility


def everything() -> FakeCluster:
    """A cluster that fills every table."""
    state = every_shape()
    acl = AclDescription(principal="User:a", host="*", operation=3, permission_type=3)
    state.acls = (DescribeAclsResource(resource_type=2, resource_name="t", acls=(acl,)),)
    state.quotas = (quotas({"user": "a"}, producer_byte_rate=1.0),)
    state.scram_users = (scram_user("a", 1),)
    state.tokens = (token("t1", "root"),)
    leader = QuorumReplica(replica_id=1, log_end_offset=5, last_fetch_timestamp=5, last_caught_up_timestamp=5)
    state.quorum = QuorumPartition(
        partition_index=0,
        error_code=0,
        leader_id=1,
        leader_epoch=1,
        high_watermark=5,
        current_voters=(leader,),
        observers=(),
    )
    altered(API_VERSIONS, _add_feature)(state)
    return state


def _add_feature(answer: Any) -> None:
    answer.supported_features = (SupportedFeature(name="f", min_version=0, max_version=2),)


@pytest.fixture
def speak_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the fake brokers answer the APIs of all tables."""
    for api, answer in (*security.ANSWERS, *quorum.ANSWERS, *resources.ANSWERS):
        monkeypatch.setitem(SPOKEN, api.key, (api, answer))


def one_acl() -> DescribeAclsResponse:
    acl = AclDescription(principal="User:a", host="*", operation=3, permission_type=3)
    return DescribeAclsResponse(resources=(DescribeAclsResource(resource_type=2, resource_name="t", acls=(acl,)),))


def declared() -> Iterator[Collector]:
    """Return every table that a module of `snapshot` declares."""
    for module in pkgutil.iter_modules(snapshot.__path__, f"{snapshot.__name__}."):
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, Collector):
                yield value


def test_every_declared_table_is_in_the_list() -> None:
    """A declared table that is not in the list would be neither collected nor published."""
    assert {table.name for table in declared()} == {table.name for table in COLLECTORS}
    assert len({table.row for table in COLLECTORS}) == len(COLLECTORS)


def test_tables_are_in_the_order_of_their_phases() -> None:
    """Tables that count failures and requests of other tables come after these, and the row that publishes comes last."""
    phases = [table.phase for table in COLLECTORS]
    assert phases == sorted(phases)
    assert [table.name for table in COLLECTORS if table.phase is Phase.COMMIT] == [COLLECTORS[-1].name]
    assert STEPS[-1] == [table.name for table in COLLECTORS if table.phase is Phase.DETAILS][-1]


@pytest.mark.usefixtures("speak_everything")
def test_every_table_has_rows() -> None:
    """For a new table the fake brokers need a response here, because an empty table could have been forgotten."""
    taken = captured(everything())
    assert [table.name for table in COLLECTORS if not taken.of(table.row)] == []
    assert set(taken.rows) == {table.row for table in COLLECTORS}
    assert unexplained_of(taken) == []


@pytest.mark.usefixtures("speak_everything")
def test_tables_declare_the_apis_that_they_need() -> None:
    """A snapshot sends exactly the requests that its tables declare; the page on permissions and skipped tables rely on it."""
    requested = {row.api for row in captured(everything()).of(CoverageRow)} - {API_VERSIONS.name}
    names = {api.name for table in COLLECTORS for api in table.apis}
    assert requested <= names
    lag_only = {api.name for table in COLLECTORS if table.phase is Phase.LAG for api in table.apis}
    details = {api.name for table in COLLECTORS if table.phase is Phase.DETAILS for api in table.apis}
    assert requested - lag_only == details - lag_only - {API_VERSIONS.name}


def test_a_table_that_asks_for_itself_says_what_it_needs() -> None:
    """It declares its APIs and their permissions; no other table can be skipped."""
    for table in COLLECTORS:
        if table.phase is Phase.DETAILS:
            assert table.apis, table.name
            # ApiVersions is sent before authentication.
            assert table.permissions or set(table.apis) == {API_VERSIONS}, table.name
        else:
            assert table.required, table.name
            assert not table.may_be_skipped, table.name
        if table.phase < Phase.SUMMARY:
            assert table.apis, f"{table.name} would be complete although the answers that it is made from failed"


def test_each_permission_is_named_once() -> None:
    """Each operation on a type of resource has one line, with what every table would lack without it."""
    permissions = required_permissions()
    assert len({(one.operation, one.resource_type) for one in permissions}) == len(permissions)
    cluster = next(one for one in permissions if str(one) == "DESCRIBE on Cluster")
    assert cluster.without.startswith("the controller is unknown; the list of groups is filtered; ")
    assert "the ACLs are refused" in cluster.without


def test_an_api_that_no_broker_offers_is_a_fact_of_coverage(monkeypatch: pytest.MonkeyPatch) -> None:
    """The snapshot is as complete as the cluster allows, without a failure."""
    monkeypatch.delitem(SPOKEN, DESCRIBE_ACLS.key)
    state = FakeCluster()
    state.add_topic("t", 1)
    taken = captured(state)
    (row,) = (row for row in taken.of(CoverageRow) if row.api == "DescribeAcls")
    assert (row.not_collected_because, row.requests, row.expected) == ("UNSUPPORTED_VERSION", 0, 0)
    assert taken.published.status == "complete"
    assert not taken.of(CollectionFailureRow)


def test_a_listener_that_shows_no_tokens_is_a_fact_of_coverage(speak: Speak) -> None:
    """DELEGATION_TOKEN_REQUEST_NOT_ALLOWED depends on how the client has authenticated, and is not a failure."""
    refused = DescribeDelegationTokenResponse(
        error_code=DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, tokens=(), throttle_time_ms=0
    )
    speak(DESCRIBE_DELEGATION_TOKEN, lambda: refused)
    state = FakeCluster()
    state.add_topic("t", 1)
    taken = captured(state)
    reasons = {row.not_collected_because for row in taken.of(CoverageRow) if row.api == "DescribeDelegationToken"}
    assert reasons == {"DELEGATION_TOKEN_REQUEST_NOT_ALLOWED"}
    assert taken.published.status == "complete"
    assert not taken.of(CollectionFailureRow)


def test_a_cluster_without_authorizer_is_a_fact_of_coverage(speak: Speak) -> None:
    """SECURITY_DISABLED depends on the configuration of the cluster, and is not a failure."""
    speak(DESCRIBE_ACLS, lambda: DescribeAclsResponse(error_code=SECURITY_DISABLED, resources=()))
    state = FakeCluster()
    state.add_topic("t", 1)
    taken = captured(state)
    reasons = {row.not_collected_because for row in taken.of(CoverageRow) if row.api == "DescribeAcls"}
    assert reasons == {"SECURITY_DISABLED"}
    assert visibility_of_topics(taken) == "complete"
    assert (taken.published.status, taken.published.completeness) == ("complete", 1.0)
    assert not taken.of(CollectionFailureRow)


def test_a_failure_of_a_table_that_is_not_required(speak: Speak) -> None:
    """It has a row of collection_failures, and the snapshot is complete."""
    speak(DESCRIBE_ACLS, lambda: DescribeAclsResponse(error_code=CLUSTER_AUTHORIZATION_FAILED, resources=()))
    state = FakeCluster()
    state.add_topic("t", 1)
    taken = captured(state)
    (row,) = taken.of(CollectionFailureRow)
    assert (row.api, row.scope_type, row.scope, row.error_name) == (
        "DescribeAcls",
        "list",
        "ACLs",
        "CLUSTER_AUTHORIZATION_FAILED",
    )
    assert (taken.published.status, taken.published.failures) == ("complete", 1)
    assert visibility_of_topics(taken) == "unknown"


def test_a_skipped_table_is_named(speak: Speak) -> None:
    """It sends no request and has no rows, and `coverage` has the reason."""
    speak(DESCRIBE_ACLS, one_acl)
    state = FakeCluster()
    state.add_topic("t", 1)
    taken = captured(state, ACLS)
    assert taken.of(AclRow) == []
    (row,) = (row for row in taken.of(CoverageRow) if row.api == "DescribeAcls")
    assert (row.skipped_table, row.not_collected_because, row.requests) == ("acls", SKIPPED, 0)
    assert unexplained_of(taken) == []
    assert visibility_of_topics(taken) == "unknown"  # only the ACLs tell it
    assert state.count(DESCRIBE_ACLS.key) == 0


def test_only_some_tables_can_be_skipped() -> None:
    """The name of an unknown table, or of a table that lag needs, is a fault of the settings."""
    assert skipped_tables(None) == skipped_tables("") == ()
    assert skipped_tables(" acls ") == (ACLS,)
    with pytest.raises(ConfigError) as raised:
        skipped_tables("acls,brokers,akls")
    these = ", ".join(table.name for table in COLLECTORS if table.may_be_skipped)
    assert raised.value.problems == tuple(
        f"snapshot.skip_tables: {name} cannot be skipped; these can: {these}" for name in ("akls", "brokers")
    )


def test_what_people_read_names_the_tables() -> None:
    """The description of the setting lists exactly the tables that can be skipped, which are those that are not required."""
    description = SnapshotSettings.model_fields["skip_tables"].description or ""
    skippable = ", ".join(table.name for table in COLLECTORS if table.may_be_skipped)
    assert description.endswith(f": {skippable}."), f"settings.py, skip_tables: name {skippable}"
    assert all(table.required is not table.may_be_skipped for table in COLLECTORS)


def outcomes(taken: Snapshot) -> dict[str, str]:
    """Return the outcome of each table by its name."""
    return {one.table_name: one.outcome for one in taken.published.tables or ()}


def stored_by(taken: Snapshot) -> dict[str, StoredTable]:
    """Return the tables that a later snapshot may refer to."""
    captured_at_ms = taken.header.captured_at_ms
    return {
        one.table_name: StoredTable(snapshot_id=one.stored_in, captured_at_ms=captured_at_ms, digest=one.digest)
        for one in taken.published.tables or ()
        if one.digest is not None
    }


@pytest.mark.usefixtures("speak_everything")
def test_what_did_not_change_is_not_stored_again() -> None:
    """The snapshot refers to the earlier one that has the rows; a table with changes has its own rows."""
    state = everything()
    first = captured(state)
    assert not first.stored_elsewhere
    second = captured(state, stored=stored_by(first))
    slow = {table.name for table in COLLECTORS if table.table.when_changed}
    assert second.stored_elsewhere == slow
    assert stored_by(second).keys() == slow
    assert {one.stored_in for one in second.published.tables or () if one.table_name in slow} == {
        first.header.snapshot_id
    }
    state.quotas = (quotas({"user": "a"}, producer_byte_rate=2.0),)
    third = captured(state, stored=stored_by(second))
    assert third.stored_elsewhere == slow - {"quotas"}
    assert {one.stored_in for one in third.published.tables or () if one.table_name == "acls"} == {
        first.header.snapshot_id
    }


@pytest.mark.usefixtures("speak_everything")
def test_what_failed_is_never_taken_for_the_same() -> None:
    """A refused list is empty, and so may be an answered one, but only the answered one may be referred to."""
    state = everything()
    state.scram_users = ()
    empty = captured(state)
    assert outcomes(empty)["scram_users"] == "complete"
    state.cluster_operations = 0
    refused = captured(state, stored=stored_by(empty))
    assert outcomes(refused)["scram_users"] == "failed"
    assert "scram_users" not in refused.stored_elsewhere | stored_by(refused).keys()


@pytest.mark.usefixtures("speak_everything")
def test_a_scram_user_that_is_not_described_is_a_failure() -> None:
    """A failure of the list keeps views from taking the user's credentials for removed."""
    state = everything()
    state.scram_users = (scram_user("a", 1), scram_user("b", error_code=UNACCEPTABLE_CREDENTIAL))
    taken = captured(state)
    assert [(row.user, row.problem) for row in taken.of(ScramUserRow)] == [
        ("a", None),
        ("b", "UNACCEPTABLE_CREDENTIAL"),
    ]
    failures = [row for row in taken.of(CollectionFailureRow) if row.api == "DescribeUserScramCredentials"]
    assert [(row.scope_type, row.scope, row.error_name) for row in failures] == [
        ("list", "SCRAM user b", "UNACCEPTABLE_CREDENTIAL")
    ]
    assert outcomes(taken)["scram_users"] == "partial"


def test_every_table_says_how_it_was_collected(speak: Speak) -> None:
    """Views that compare two snapshots need it: a table without rows may not have been collected."""
    speak(DESCRIBE_ACLS, lambda: DescribeAclsResponse(error_code=SECURITY_DISABLED, resources=()))
    state = FakeCluster()
    state.add_topic("t", 1)
    state.faults.append(Fault(DESCRIBE_LOG_DIRS.key, Close(), times=1_000, node_id=3))
    ended = outcomes(captured(state, QUOTAS))
    assert list(ended) == [table.name for table in COLLECTORS if table.phase < Phase.SUMMARY]
    assert (ended["acls"], ended["quotas"], ended["scram_users"]) == ("not_offered", "skipped", "not_offered")
    assert (ended["topics"], ended["configs"], ended["log_dirs"]) == ("complete", "complete", "partial")
