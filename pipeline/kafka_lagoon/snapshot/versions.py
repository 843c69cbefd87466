"""Makes rows of the versions that brokers offer: releases, APIs and features."""

from collections.abc import Callable, Iterator, Mapping

from kafka_lagoon.admin.releases import kafka_version_range
from kafka_lagoon.admin.versions import Versions
from kafka_lagoon.client.broker import Broker
from kafka_lagoon.protocol.messages.api_versions import API_VERSIONS, ApiVersionsResponse
from kafka_lagoon.snapshot.collection import Collected, Collection, Collector, Phase
from kafka_lagoon.tables import state_tables
from kafka_lagoon.tables.cluster_rows import BrokerApiRow, BrokerFeatureRow
from kafka_lagoon.tables.row_classes import ALWAYS, Int32, column, row


@row
class BrokerVersionRow:
    """Brokers and the releases that they may be, one row per broker."""

    broker_id: Int32 = column("node.id of the broker.")
    host: str = column("Host that the broker advertises on the listener of the bootstrap servers.")
    port: Int32 = column("Port that the broker advertises on the listener of the bootstrap servers.")
    release: str | None = column(
        "Kafka release that its APIs fit, e.g. `3.9` or `3.3 to 3.4`; null if it did not answer.",
        null_if="apis IS NOT NULL",
    )
    apis: Int32 | None = column("How many APIs it offers; null if it did not answer.")
    problem: str | None = column("Why it did not answer; null if it did.")


@row
class ApiVersionRow:
    """APIs and the versions of them that brokers accept, one row per API and range."""

    api_key: Int32 = column("Kafka's number of the API.")
    api: str = column("Kafka's name of the API.")
    broker_ids: tuple[Int32, ...] = column("Brokers that accept this range.")
    lowest: Int32 = column("Lowest version that they accept.")
    highest: Int32 = column("Highest version that they accept.")
    our_lowest: Int32 | None = column(
        "Lowest version that we speak; null if the API is not for clients, or too new.", null_if=ALWAYS
    )
    our_highest: Int32 | None = column(
        "Highest version that we speak; null if we do not speak the API.", null_if=ALWAYS
    )
    spoken: Int32 | None = column(
        "Version that we speak with these brokers; null if there is none in common.", null_if=ALWAYS
    )


@row
class FeatureRow:
    """Features (such as metadata.version), one row per feature and range."""

    feature: str = column("Name of the feature.")
    broker_ids: tuple[Int32, ...] = column("Brokers that support this range.")
    lowest: Int32 | None = column("Lowest level that they support; null if they do not say.", null_if=ALWAYS)
    highest: Int32 | None = column("Highest level that they support; null if they do not say.", null_if=ALWAYS)
    finalized: Int32 | None = column(
        "Level that is in force in the cluster; null if the feature is off.", null_if=ALWAYS
    )


def broker_version_rows(brokers: Mapping[int, Broker], versions: Versions) -> Iterator[BrokerVersionRow]:
    """One row per broker that the cluster knows, also of those that did not answer."""
    for broker_id, broker in sorted(brokers.items()):
        answer, failure = versions.answers.get(broker_id), versions.failures.get(broker_id)
        yield BrokerVersionRow(
            broker_id=broker_id,
            host=broker.host,
            port=broker.port,
            release=kafka_version_range([answer] if answer else []),
            apis=len({api.api_key for api in answer.api_keys}) if answer else None,
            problem=failure.name if failure else None,
        )


def api_version_rows(answers: Mapping[int, ApiVersionsResponse]) -> Iterator[ApiVersionRow]:
    """One row per API and range of versions, ordered by key."""
    from kafka_lagoon.protocol.apis import APIS, api_name  # noqa: PLC0415  all 75 APIs, see `_spoken`

    ranges: dict[tuple[int, int, int], list[int]] = {}
    for broker_id, answer in sorted(answers.items()):
        for listed in {(api.api_key, api.min_version, api.max_version) for api in answer.api_keys}:
            ranges.setdefault(listed, []).append(broker_id)
    for (api_key, lowest, highest), broker_ids in sorted(ranges.items()):
        ours = APIS[api_key].versions if api_key in APIS else None
        yield ApiVersionRow(
            api_key=api_key,
            api=api_name(api_key),
            broker_ids=tuple(broker_ids),
            lowest=lowest,
            highest=highest,
            our_lowest=ours.lowest if ours else None,
            our_highest=ours.highest if ours else None,
            spoken=_spoken(api_key, lowest, highest),
        )


def _spoken(api_key: int, lowest: int, highest: int) -> int | None:
    """The version that we speak with a broker of this range.

    The registry of APIs is imported here, because it takes a tenth of a second and most users of this module do not need it.
    """
    from kafka_lagoon.protocol.apis import APIS  # noqa: PLC0415

    if api_key not in APIS:
        return None
    ours = APIS[api_key].versions
    spoken = min(highest, ours.highest)
    return spoken if spoken >= max(lowest, ours.lowest) else None


def feature_rows(answers: Mapping[int, ApiVersionsResponse]) -> Iterator[FeatureRow]:
    """One row per feature and range of levels, ordered by name; a finalized feature that no broker supports has a row, too."""
    newest = max(answers.values(), key=lambda answer: answer.finalized_features_epoch, default=None)
    finalized = {feature.name: feature.max_version_level for feature in newest.finalized_features} if newest else {}
    ranges: dict[tuple[str, int | None, int | None], list[int]] = {}
    for broker_id, answer in sorted(answers.items()):
        for supported in {(one.name, one.min_version, one.max_version) for one in answer.supported_features}:
            ranges.setdefault(supported, []).append(broker_id)
    for name in finalized.keys() - {name for name, _, _ in ranges}:
        ranges[name, None, None] = []
    for (name, lowest, highest), broker_ids in sorted(ranges.items(), key=lambda item: item[0][0]):
        yield FeatureRow(
            feature=name,
            broker_ids=tuple(broker_ids),
            lowest=lowest,
            highest=highest,
            finalized=finalized.get(name),
        )


def broker_api_rows(answers: Mapping[int, ApiVersionsResponse]) -> Iterator[BrokerApiRow]:
    """One row per broker and API, ordered by both."""
    from kafka_lagoon.protocol.apis import api_name  # noqa: PLC0415  see `_spoken`

    for broker_id, answer in sorted(answers.items()):
        for api in sorted(answer.api_keys, key=lambda api: api.api_key):
            yield BrokerApiRow(
                broker_id=broker_id,
                api_key=api.api_key,
                api=api_name(api.api_key),
                lowest=api.min_version,
                highest=api.max_version,
                spoken=_spoken(api.api_key, api.min_version, api.max_version),
            )


def broker_feature_rows(answers: Mapping[int, ApiVersionsResponse]) -> Iterator[BrokerFeatureRow]:
    """One row per broker and feature, ordered by both; a finalized feature that a broker does not support has a row, too."""
    for broker_id, answer in sorted(answers.items()):
        finalized = {feature.name: feature.max_version_level for feature in answer.finalized_features}
        supported = {feature.name: (feature.min_version, feature.max_version) for feature in answer.supported_features}
        for name in sorted(finalized.keys() | supported.keys()):
            lowest, highest = supported.get(name, (None, None))
            yield BrokerFeatureRow(
                broker_id=broker_id, feature=name, lowest=lowest, highest=highest, finalized=finalized.get(name)
            )


def _collected(
    collection: Collection, rows: Callable[[Mapping[int, ApiVersionsResponse]], Iterator[object]]
) -> Collected:
    """Rows from the ApiVersions answers of open connections; no request is sent.

    Failures to connect are reported by the requests that needed the connection.
    """
    brokers = collection.cluster.brokers
    answers = {broker_id: broker.versions for broker_id, broker in brokers.items() if broker.versions}
    return Collected(list(rows(answers)), is_whole=answers.keys() >= set(collection.topology.broker_ids()))


API_VERSIONS_TABLE = Collector(
    table=state_tables.API_VERSIONS,
    phase=Phase.DETAILS,
    collect=lambda collection: _collected(collection, broker_api_rows),
    apis=(API_VERSIONS,),
    required=False,
    may_be_skipped=True,
)

FEATURES = Collector(
    table=state_tables.FEATURES,
    phase=Phase.DETAILS,
    collect=lambda collection: _collected(collection, broker_feature_rows),
    apis=(API_VERSIONS,),
    required=False,
    may_be_skipped=True,
)
