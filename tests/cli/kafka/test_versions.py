"""versions: only values that a broker returned are shown."""

from kafka_lagoon.admin.releases import UNLIKE_ANY
from kafka_lagoon.protocol.apis import APIS
from kafka_lagoon.protocol.messages.api_versions import API_VERSIONS, FinalizedFeature, OfferedApi, SupportedFeature
from tests.cli.kafka.conftest import Ask
from tests.fake.cluster import FakeCluster
from tests.fake.faults import Altered, Fault


def test_brokers_that_differ_have_rows_of_their_own(state: FakeCluster, ask: Ask) -> None:
    """Brokers of different releases have separate rows, as during an upgrade; an unknown API is shown by number."""

    def newer(response: object) -> object:
        response.api_keys = (
            OfferedApi(api_key=API_VERSIONS.key, min_version=0, max_version=4),
            OfferedApi(api_key=3, min_version=0, max_version=99),
            OfferedApi(api_key=5_000, min_version=0, max_version=1),
            OfferedApi(api_key=8, min_version=90, max_version=99),
        )
        response.supported_features = (SupportedFeature(name="metadata.version", min_version=7, max_version=30),)
        response.finalized_features = (
            FinalizedFeature(name="metadata.version", max_version_level=29, min_version_level=7),
        )
        response.finalized_features_epoch = 5
        return response

    state.faults.append(Fault(API_VERSIONS.key, Altered(newer), node_id=2, times=1_000))
    shown = ask("versions", "--json")
    assert shown.code == 0
    ours = APIS[3].versions
    metadata = [one for one in shown.rows("api") if one["api"] == "Metadata"]
    assert [(one["broker_ids"], one["highest"], one["spoken"]) for one in metadata] == [
        ([1, 3], ours.highest, ours.highest),
        ([2], 99, ours.highest),
    ]
    unknown = {one["api_key"]: (one["api"], one["spoken"]) for one in shown.rows("api") if one["broker_ids"] == [2]}
    assert unknown[5_000] == ("UNKNOWN_API_5000", None)
    assert unknown[8] == ("OffsetCommit", None)
    assert [(one["broker_id"], one["release"]) for one in shown.rows("broker")] == [
        (1, "4.4 or older"),
        (2, UNLIKE_ANY),
        (3, "4.4 or older"),
    ]
    assert shown.rows("feature") == [
        {
            "kind": "feature",
            "feature": "metadata.version",
            "broker_ids": [2],
            "lowest": 7,
            "highest": 30,
            "finalized": 29,
        }
    ]


def test_a_broker_that_does_not_say_keeps_its_row(state: FakeCluster, ask: Ask) -> None:
    """It is a failure; the broker keeps its row, with an unknown release."""

    def refuse(response: object) -> object:
        response.error_code = 42
        return response

    state.faults.append(Fault(API_VERSIONS.key, Altered(refuse), node_id=3, times=1_000))
    shown = ask("versions", "--json")
    assert shown.code == 3
    assert [one["apis"] is None for one in shown.rows("broker")] == [False, False, True]
