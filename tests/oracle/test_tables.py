"""Our tables of numbers against Kafka's enumerations."""

from collections.abc import Mapping, Sequence
from types import ModuleType

import pytest

from pipeline.protocol import acls
from pipeline.protocol.error_codes import ERROR_CODES, Refresh
from pipeline.protocol.messages import (
    create_topics,
    describe_client_quotas,
    describe_configs,
    describe_user_scram_credentials,
    elect_leaders,
    find_coordinator,
    incremental_alter_configs,
    list_offsets,
    update_features,
)
from tests.oracle.java_codec import JavaCodec

pytestmark = pytest.mark.java

_ERRORS = "org.apache.kafka.common.errors"
# Where we do not share Kafka's opinion on whether to ask again; the module's docstring says why.
_OUR_OPINION = {"BROKER_NOT_AVAILABLE": True, "ELECTION_NOT_NEEDED": False}


def test_error_codes(codecs: Sequence[JavaCodec]) -> None:
    """Every code of both releases has its name, and is asked again exactly where Kafka's clients do."""
    for codec in codecs:
        retriable = codec.jvm.java.lang.Class.forName(f"{_ERRORS}.RetriableException")
        for error in codec.jvm.org.apache.kafka.common.protocol.Errors.values():
            ours, name = ERROR_CODES[error.code()], error.name()
            assert ours.name == name
            assert ours.retriable == _OUR_OPINION.get(name, retriable.isInstance(error.exception())), name


def test_refreshed_metadata(codecs: Sequence[JavaCodec]) -> None:
    """Metadata are refreshed where Kafka's clients do, and after two codes that tell of a broker that is not there."""
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
    """What access control speaks of has Kafka's numbers, by name and as a constant, and none is missing."""
    theirs: dict[int, str] = {}
    for codec in codecs:
        told = codec.jvm.java.lang.Class.forName(f"org.apache.kafka.common.{enumeration}")
        theirs |= {one.code(): one.name() for one in told.getEnumConstants()}
    assert ours == theirs
    assert all(getattr(acls, name) == code for code, name in ours.items())


def test_special_timestamps(codecs: Sequence[JavaCodec]) -> None:
    """The points of a log have the numbers of Kafka's ListOffsetsRequest, and so has the replica id of clients."""
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
    """Names and numbers of an enumeration of Kafka's."""
    told = codec.jvm.java.lang.Class.forName(f"org.apache.kafka.common.{enumeration}")
    return {one.name(): one.id() for one in told.getEnumConstants()}


def test_config_sources(codecs: Sequence[JavaCodec]) -> None:
    """Sources of settings have Kafka's numbers."""
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
    ids=lambda one: one if isinstance(one, str) else one.__name__.rpartition(".")[2],
)
def test_small_enumerations(codecs: Sequence[JavaCodec], enumeration: str, number: str, module: ModuleType) -> None:
    """Operations, directions and mechanisms have Kafka's numbers, and none is missing."""
    told = codecs[0].jvm.java.lang.Class.forName(f"org.apache.kafka.{enumeration}").getEnumConstants()
    theirs = {one.name(): getattr(one, number)() for one in told if one.name() != "UNKNOWN"}
    assert {name: getattr(module, name) for name in theirs} == theirs


def test_scram_mechanisms(codecs: Sequence[JavaCodec]) -> None:
    """Mechanisms are called what SASL calls them."""
    told = codecs[0].jvm.org.apache.kafka.clients.admin.ScramMechanism.values()
    theirs = {one.type(): one.mechanismName() for one in told if one.name() != "UNKNOWN"}
    assert theirs == describe_user_scram_credentials.SCRAM_MECHANISMS


def _statics(codec: JavaCodec, name: str) -> dict[str, object]:
    """The public constants of a class of Kafka's."""
    fields = codec.jvm.java.lang.Class.forName(f"org.apache.kafka.common.{name}").getFields()
    return {field.getName(): field.get(None) for field in fields if field.getName().isupper()}


def test_quotas(codecs: Sequence[JavaCodec]) -> None:
    """What a filter asks of an entity, and of what entities are made, are Kafka's."""
    matches = _statics(codecs[0], "requests.DescribeClientQuotasRequest")
    assert {name: getattr(describe_client_quotas, name.removeprefix("MATCH_TYPE_")) for name in matches} == matches
    parts = _statics(codecs[0], "quota.ClientQuotaEntity")
    assert {name: getattr(describe_client_quotas, name) for name in parts} == parts


def test_numbers_left_to_the_broker(codecs: Sequence[JavaCodec]) -> None:
    """Partitions and replicas of a new topic that are left to the broker are told as Kafka does."""
    theirs = _statics(codecs[0], "requests.CreateTopicsRequest")
    assert theirs == dict.fromkeys(("NO_NUM_PARTITIONS", "NO_REPLICATION_FACTOR"), create_topics.BROKER_DEFAULT)


def test_election_types(codecs: Sequence[JavaCodec]) -> None:
    """Elections have Kafka's numbers, and none is missing."""
    elections = codecs[0].jvm.java.lang.Class.forName("org.apache.kafka.common.ElectionType")
    theirs = {one.name(): elections.getField("value").get(one) for one in elections.getEnumConstants()}
    assert {name: getattr(elect_leaders, name) for name in theirs} == theirs
