"""Answers ListConfigResources: fake brokers have no groups and no client metrics with configs of their own.

They are as old ones, without the API, unless a test adds it to those that they speak.
"""

from typing import Any

from kafka_lagoon.protocol.messages import list_config_resources
from tests.fake.cluster import FakeCluster


def _list_config_resources(_state: FakeCluster, _node: int, _version: int, _request: Any) -> Any:
    return list_config_resources.ListConfigResourcesResponse(config_resources=())


ANSWERS = ((list_config_resources.LIST_CONFIG_RESOURCES, _list_config_resources),)
