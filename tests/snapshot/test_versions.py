"""Rows of releases, APIs and features, from messages made by hand."""

from types import SimpleNamespace

from kafka_lagoon.client.failures import Scope, own_failure
from kafka_lagoon.client.routing import Gathered
from kafka_lagoon.protocol.messages.api_versions import (
    API_VERSIONS,
    ApiVersionsResponse,
    FinalizedFeature,
    OfferedApi,
    SupportedFeature,
)
from kafka_lagoon.snapshot.versions import (
    ApiVersionRow,
    BrokerVersionRow,
    FeatureRow,
    api_version_rows,
    broker_api_rows,
    broker_feature_rows,
    broker_version_rows,
    feature_rows,
)
from kafka_lagoon.tables.cluster_rows import BrokerApiRow, BrokerFeatureRow
from tests.protocol.api_lists import recorded

METADATA = 3
UNKNOWN_KEY = 9_999


def offers(
    *apis: tuple[int, int, int], level: int = 1, finalized: int | None = None, epoch: int = 5
) -> ApiVersionsResponse:
    """Make the response of a broker with these APIs, with a feature up to `level`, and with its finalized level."""
    return ApiVersionsResponse(
        api_keys=tuple(OfferedApi(api_key=key, min_version=low, max_version=high) for key, low, high in apis),
        supported_features=(SupportedFeature(name="f", min_version=0, max_version=level),),
        finalized_features_epoch=-1 if finalized is None else epoch,
        finalized_features=()
        if finalized is None
        else (FinalizedFeature(name="f", max_version_level=finalized, min_version_level=0),),
    )


def test_every_known_broker_is_a_row() -> None:
    """The row of a broker that did not answer has the reason."""
    listed = recorded()["3.9.2", "kraft"]
    answer = offers(*((key, low, high) for key, (low, high) in listed.items()))
    brokers = {2: SimpleNamespace(host="b2", port=2), 1: SimpleNamespace(host="b1", port=1)}
    failure = own_failure(API_VERSIONS, Scope.broker(2), "CONNECTION_FAILED")
    assert list(broker_version_rows(brokers, Gathered({1: answer}, {}, {2: failure}))) == [
        BrokerVersionRow(broker_id=1, host="b1", port=1, release="3.9", apis=len(listed), problem=None),
        BrokerVersionRow(broker_id=2, host="b2", port=2, release=None, apis=None, problem="CONNECTION_FAILED"),
    ]


def test_brokers_that_differ_have_rows_of_their_own() -> None:
    """During an upgrade an API has a row for each range; our version is the highest that both sides support."""
    old, new = offers((METADATA, 0, 9)), offers((METADATA, 0, 99), (UNKNOWN_KEY, 0, 1))
    rows = list(api_version_rows({1: old, 2: new, 3: old}))
    assert [(row.api_key, row.broker_ids, row.highest) for row in rows] == [
        (METADATA, (1, 3), 9),
        (METADATA, (2,), 99),
        (UNKNOWN_KEY, (2,), 1),
    ]
    assert [row.spoken for row in rows] == [9, rows[1].our_highest, None]
    assert rows[2] == ApiVersionRow(
        api_key=UNKNOWN_KEY,
        api=rows[2].api,
        broker_ids=(2,),
        lowest=0,
        highest=1,
        our_lowest=None,
        our_highest=None,
        spoken=None,
    )


def test_no_version_in_common_is_null() -> None:
    """The spoken version is null, not the highest version of one side."""
    [row] = api_version_rows({1: offers((METADATA, 98, 99))})
    assert row.spoken is None
    assert row.our_highest is not None


def test_features_are_of_the_newest_epoch() -> None:
    """The finalized level is that of the newest epoch, even for a broker that does not know it yet."""
    of_no_epoch, of_an_old_one, newest = offers(), offers(finalized=1, epoch=5), offers(level=2, finalized=2, epoch=6)
    for older in (of_no_epoch, of_an_old_one):
        for brokers in ({1: older, 2: newest}, {2: newest, 1: older}):
            assert list(feature_rows(brokers)) == [
                FeatureRow(feature="f", broker_ids=(1,), lowest=0, highest=1, finalized=2),
                FeatureRow(feature="f", broker_ids=(2,), lowest=0, highest=2, finalized=2),
            ]


def test_a_finalized_feature_that_nobody_supports() -> None:
    """The feature has a row without brokers."""
    answer = offers(finalized=3)
    answer.supported_features = ()
    assert list(feature_rows({1: answer})) == [
        FeatureRow(feature="f", broker_ids=(), lowest=None, highest=None, finalized=3)
    ]
    assert list(feature_rows({})) == []


def test_every_broker_has_its_own_apis() -> None:
    """Each broker and API has a row, with the version that we use."""
    rows = list(broker_api_rows({2: offers((UNKNOWN_KEY, 0, 1), (METADATA, 0, 9)), 1: offers((METADATA, 98, 99))}))
    assert rows[0] == BrokerApiRow(broker_id=1, api_key=METADATA, api="Metadata", lowest=98, highest=99, spoken=None)
    assert [(row.broker_id, row.api_key, row.spoken) for row in rows[1:]] == [(2, METADATA, 9), (2, UNKNOWN_KEY, None)]


def test_every_broker_has_its_own_features() -> None:
    """The finalized level is null for a broker that does not know it; a broker without the feature has a row, too."""
    unaware, knowing, without = offers(level=1), offers(level=2, finalized=2), offers(finalized=3)
    without.supported_features = ()
    assert list(broker_feature_rows({1: unaware, 2: knowing, 3: without})) == [
        BrokerFeatureRow(broker_id=1, feature="f", lowest=0, highest=1, finalized=None),
        BrokerFeatureRow(broker_id=2, feature="f", lowest=0, highest=2, finalized=2),
        BrokerFeatureRow(broker_id=3, feature="f", lowest=None, highest=None, finalized=3),
    ]
