"""Our tables of numbers against Kafka's enumerations."""

from collections.abc import Mapping, Sequence
from types import ModuleType

import pytest

from kafka_lagoon.protocol import acls
from kafka_lagoon.protocol.error_codes import ERROR_CODES, Refresh
from kafka_lagoon.protocol.messages import (
    consumer_group_heartbeat,
    create_topics,
    delete_records,
    describe_client_quotas,
    describe_configs,
    describe_producers,
    describe_transactions,
    describe_user_scram_credentials,
    elect_leaders,
    end_txn,
    find_coordinator,
    incremental_alter_configs,
    init_producer_id,
    join_group,
    leave_group,
    list_offsets,
    offset_commit,
    produce,
    share_acknowledge,
    share_fetch,
    share_group_heartbeat,
    streams_group_describe,
    streams_group_heartbeat,
    txn_offset_commit,
    update_features,
)
from kafka_lagoon.source.kafka_properties import _OF_CLIENTS, _SECURITY
from tests.oracle.java_codec import JavaCodec

pytestmark = pytest.mark.java

_ERRORS = "org.apache.kafka.common.errors"
# Codes that we retry differently from Kafka's clients; the module's docstring has the reasons.
_OUR_OPINION = {"BROKER_NOT_AVAILABLE": True, "ELECTION_NOT_NEEDED": False}


def test_error_codes(codecs: Sequence[JavaCodec]) -> None:
    """Every code of both releases has its name, and is retried exactly where Kafka's clients retry it."""
    for codec in codecs:
        retriable = codec.jvm.java.lang.Class.forName(f"{_ERRORS}.RetriableException")
        for error in codec.jvm.org.apache.kafka.common.protocol.Errors.values():
            ours, name = ERROR_CODES[error.code()], error.name()
            assert ours.name == name
            assert ours.retriable == _OUR_OPINION.get(name, retriable.isInstance(error.exception())), name


def test_refreshed_metadata(codecs: Sequence[JavaCodec]) -> None:
    """Metadata is refreshed where Kafka's clients do it, and after two codes of a missing broker."""
    ours = {one.name for one in ERROR_CODES.values() if one.refresh is Refresh.METADATA}
    for codec in codecs:
        stale = codec.jvm.java.lang.Class.forName(f"{_ERRORS}.InvalidMetadataException")
        errors = codec.jvm.org.apache.kafka.common.protocol.Errors.values()
        theirs = {error.name() for error in errors if stale.isInstance(error.exception())}
        assert ours - theirs == {"BROKER_NOT_AVAILABLE", "NOT_CONTROLLER"}
        assert theirs - ours == {"ELECTION_NOT_NEEDED"}


@pytest.mark.parametrize(
    ("enumeration", "ours"),
    [
        ("resource.ResourceType", acls.RESOURCE_TYPES),
        ("resource.PatternType", acls.PATTERN_TYPES),
        ("acl.AclOperation", acls.OPERATIONS),
        ("acl.AclPermissionType", acls.PERMISSION_TYPES),
    ],
)
def test_acls(codecs: Sequence[JavaCodec], enumeration: str, ours: Mapping[int, str]) -> None:
    """Numbers of access control equal Kafka's, by name and as a constant, and none is missing."""
    theirs: dict[int, str] = {}
    for codec in codecs:
        constants = codec.jvm.java.lang.Class.forName(f"org.apache.kafka.common.{enumeration}")
        theirs |= {one.code(): one.name() for one in constants.getEnumConstants()}
    assert ours == theirs
    assert all(getattr(acls, name) == code for code, name in ours.items())


def test_special_timestamps(codecs: Sequence[JavaCodec]) -> None:
    """Special timestamps equal those of Kafka's ListOffsetsRequest, and so does the replica id of clients."""
    request = codecs[0].jvm.java.lang.Class.forName("org.apache.kafka.common.requests.ListOffsetsRequest")
    theirs = {field.getName(): field.get(None) for field in request.getFields() if field.getName().isupper()}
    assert {
        "LATEST_TIMESTAMP": list_offsets.LATEST,
        "EARLIEST_TIMESTAMP": list_offsets.EARLIEST,
        "MAX_TIMESTAMP": list_offsets.MAX_TIMESTAMP,
        "EARLIEST_LOCAL_TIMESTAMP": list_offsets.EARLIEST_LOCAL,
        "LATEST_TIERED_TIMESTAMP": list_offsets.LATEST_TIERED,
        "EARLIEST_PENDING_UPLOAD_TIMESTAMP": list_offsets.EARLIEST_PENDING_UPLOAD,
        "CONSUMER_REPLICA_ID": list_offsets.CONSUMER_REPLICA_ID,
    }.items() <= theirs.items()


def _constants(codec: JavaCodec, enumeration: str) -> dict[str, int]:
    """Return names and numbers of one of Kafka's enumerations."""
    constants = codec.jvm.java.lang.Class.forName(f"org.apache.kafka.common.{enumeration}")
    return {one.name(): one.id() for one in constants.getEnumConstants()}


def test_config_sources(codecs: Sequence[JavaCodec]) -> None:
    """Sources of configs have Kafka's numbers."""
    theirs = _constants(codecs[0], "requests.DescribeConfigsResponse$ConfigSource")
    assert {name: number for number, name in describe_configs.CONFIG_SOURCES.items()} == theirs


def test_config_resources(codecs: Sequence[JavaCodec]) -> None:
    """Types of resources have Kafka's numbers, and none is missing."""
    theirs = _constants(codecs[0], "config.ConfigResource$Type")
    del theirs["UNKNOWN"]
    assert {name: getattr(describe_configs, name) for name in theirs} == theirs


def test_coordinator_types(codecs: Sequence[JavaCodec]) -> None:
    """Types of keys have Kafka's numbers, and none is missing."""
    theirs = _constants(codecs[0], "requests.FindCoordinatorRequest$CoordinatorType")
    assert {name: getattr(find_coordinator, name) for name in theirs} == theirs


@pytest.mark.parametrize(
    ("enumeration", "number", "module"),
    [
        ("clients.admin.AlterConfigOp$OpType", "id", incremental_alter_configs),
        ("clients.admin.FeatureUpdate$UpgradeType", "code", update_features),
        ("clients.admin.ScramMechanism", "type", describe_user_scram_credentials),
    ],
    ids=lambda argument: argument if isinstance(argument, str) else argument.__name__.rpartition(".")[2],
)
def test_small_enumerations(codecs: Sequence[JavaCodec], enumeration: str, number: str, module: ModuleType) -> None:
    """Operations, directions and mechanisms have Kafka's numbers, and none is missing."""
    constants = codecs[0].jvm.java.lang.Class.forName(f"org.apache.kafka.{enumeration}").getEnumConstants()
    theirs = {one.name(): getattr(one, number)() for one in constants if one.name() != "UNKNOWN"}
    assert {name: getattr(module, name) for name in theirs} == theirs


def test_scram_mechanisms(codecs: Sequence[JavaCodec]) -> None:
    """Mechanisms are called what SASL calls them."""
    constants = codecs[0].jvm.org.apache.kafka.clients.admin.ScramMechanism.values()
    theirs = {one.type(): one.mechanismName() for one in constants if one.name() != "UNKNOWN"}
    assert theirs == describe_user_scram_credentials.SCRAM_MECHANISMS


def _statics(codec: JavaCodec, name: str) -> dict[str, object]:
    """Return the public constants of one of Kafka's classes."""
    fields = codec.jvm.java.lang.Class.forName(f"org.apache.kafka.common.{name}").getFields()
    return {field.getName(): field.get(None) for field in fields if field.getName().isupper()}


def test_quotas(codecs: Sequence[JavaCodec]) -> None:
    """Parts of entities and of filters are Kafka's."""
    matches = _statics(codecs[0], "requests.DescribeClientQuotasRequest")
    assert {name: getattr(describe_client_quotas, name.removeprefix("MATCH_TYPE_")) for name in matches} == matches
    parts = _statics(codecs[0], "quota.ClientQuotaEntity")
    assert {name: getattr(describe_client_quotas, name) for name in parts} == parts


def test_numbers_left_to_the_broker(codecs: Sequence[JavaCodec]) -> None:
    """Partitions and replicas of a new topic that are left to the broker are encoded as by Kafka."""
    theirs = _statics(codecs[0], "requests.CreateTopicsRequest")
    assert theirs == dict.fromkeys(("NO_NUM_PARTITIONS", "NO_REPLICATION_FACTOR"), create_topics.BROKER_DEFAULT)


def test_election_types(codecs: Sequence[JavaCodec]) -> None:
    """Elections have Kafka's numbers, and none is missing."""
    elections = codecs[0].jvm.java.lang.Class.forName("org.apache.kafka.common.ElectionType")
    theirs = {one.name(): elections.getField("value").get(one) for one in elections.getEnumConstants()}
    assert {name: getattr(elect_leaders, name) for name in theirs} == theirs


@pytest.mark.parametrize(
    ("request_name", "ours"),
    [
        ("ConsumerGroupHeartbeatRequest", consumer_group_heartbeat),
        ("ShareGroupHeartbeatRequest", share_group_heartbeat),
        ("StreamsGroupHeartbeatRequest", streams_group_heartbeat),
    ],
    ids=lambda argument: argument if isinstance(argument, str) else "",
)
def test_member_epochs(codecs: Sequence[JavaCodec], request_name: str, ours: ModuleType) -> None:
    """Members join and leave with Kafka's epochs, and only groups with static members have the temporary leave."""
    theirs = _statics(codecs[0], f"requests.{request_name}")
    assert (theirs["JOIN_GROUP_MEMBER_EPOCH"], theirs["LEAVE_GROUP_MEMBER_EPOCH"]) == (ours.JOIN, ours.LEAVE)
    assert getattr(ours, "LEAVE_FOR_NOW", None) == theirs.get("LEAVE_GROUP_STATIC_MEMBER_EPOCH")


def test_absent_members(codecs: Sequence[JavaCodec]) -> None:
    """A client that is no member sends the same values as Kafka's clients."""
    joining = _statics(codecs[0], "requests.JoinGroupRequest")
    committing = _statics(codecs[0], "requests.OffsetCommitRequest")
    assert {join_group.NO_MEMBER_ID, leave_group.ANY_MEMBER_ID} == {joining["UNKNOWN_MEMBER_ID"]}
    assert join_group.NO_GENERATION == txn_offset_commit.NO_GENERATION == joining["UNKNOWN_GENERATION_ID"]
    assert committing["DEFAULT_GENERATION_ID"] == offset_commit.NO_GENERATION
    assert committing["DEFAULT_RETENTION_TIME"] == offset_commit.BROKERS_RETENTION


def test_absent_producers(codecs: Sequence[JavaCodec]) -> None:
    """Ids, epochs, sequences and times that stand for missing ones are Kafka's."""
    theirs = _statics(codecs[0], "record.internal.RecordBatch")
    for module in (init_producer_id, end_txn):
        assert theirs["NO_PRODUCER_ID"] == module.NO_PRODUCER_ID
        assert theirs["NO_PRODUCER_EPOCH"] == module.NO_PRODUCER_EPOCH
    assert theirs["NO_SEQUENCE"] == describe_producers.NO_SEQUENCE
    assert describe_producers.NO_TIMESTAMP == produce.NO_LOG_APPEND_TIME == theirs["NO_TIMESTAMP"]


def test_absent_offsets(codecs: Sequence[JavaCodec]) -> None:
    """Special offsets in requests and in responses are Kafka's."""
    assert _statics(codecs[0], "requests.ProduceResponse")["INVALID_OFFSET"] == produce.NO_OFFSET
    assert _statics(codecs[0], "requests.DeleteRecordsRequest")["HIGH_WATERMARK"] == delete_records.HIGH_WATERMARK
    low_watermark = _statics(codecs[0], "requests.DeleteRecordsResponse")["INVALID_LOW_WATERMARK"]
    assert low_watermark == delete_records.NO_LOW_WATERMARK


def test_share_sessions(codecs: Sequence[JavaCodec]) -> None:
    """Sessions, acknowledgements and acquire modes have Kafka's numbers; users cannot send a gap."""
    epochs = _statics(codecs[0], "requests.ShareRequestMetadata")
    assert epochs == {"INITIAL_EPOCH": share_fetch.OPEN, "FINAL_EPOCH": share_fetch.CLOSE}
    assert share_acknowledge.CLOSE == share_fetch.CLOSE
    consumer = "org.apache.kafka.clients.consumer"
    types = codecs[0].jvm.java.lang.Class.forName(f"{consumer}.AcknowledgeType")
    modes = codecs[0].jvm.java.lang.Class.forName(f"{consumer}.internals.ShareAcquireMode")
    theirs = {one.name(): types.getField("id").get(one) for one in types.getEnumConstants()}
    theirs |= {one.name(): one.id() for one in modes.getEnumConstants()}
    assert {name: getattr(share_fetch, name) for name in theirs} == theirs


def test_streams_statuses(codecs: Sequence[JavaCodec]) -> None:
    """Statuses of members of streams groups have Kafka's numbers, and none is missing."""
    name = "org.apache.kafka.common.requests.StreamsGroupHeartbeatResponse$Status"
    constants = codecs[0].jvm.java.lang.Class.forName(name).getEnumConstants()
    theirs = {one.name(): one.code() for one in constants}
    assert {name: getattr(streams_group_heartbeat, name) for name in theirs} == theirs


def test_descriptions_of_topologies(codecs: Sequence[JavaCodec]) -> None:
    """Reasons why a topology is or is not described have Kafka's numbers, and none is missing."""
    statuses = codecs[0].jvm.org.apache.kafka.clients.admin.StreamsGroupTopologyDescriptionStatus.values()
    theirs = {one.name(): one.id() for one in statuses}
    assert {name: getattr(streams_group_describe, name) for name in theirs} == theirs


def test_properties_of_clients(codecs: Sequence[JavaCodec]) -> None:
    """No property of Kafka's consumer and producer is taken for a misspelt one."""
    clients = codecs[0].jvm.org.apache.kafka.clients
    names = {*clients.consumer.ConsumerConfig.configNames(), *clients.producer.ProducerConfig.configNames()}
    assert len(names) > 100
    unknown = {name for name in names if name not in _OF_CLIENTS.split() and not name.startswith(_SECURITY)}
    assert unknown == {"internal.throw.on.fetch.stable.offset.unsupported"}  # not for users


def test_transaction_states(codecs: Sequence[JavaCodec]) -> None:
    """States of transactions are called what Kafka calls them, and none is missing."""
    constants = codecs[0].jvm.org.apache.kafka.clients.admin.TransactionState.values()
    assert {one.toString() for one in constants} - {"Unknown"} == set(describe_transactions.STATES)
