"""The table of releases against the code of the releases whose jars we have."""

from collections.abc import Iterator
from typing import Any

import pytest

from kafka_lagoon.jars.locked_jars import jar_paths
from kafka_lagoon.protocol.releases import api_lists
from kafka_lagoon.wire.schema import Versions
from tests.effort import first
from tests.java_gateway import SHORT_LIVED, java_gateway
from tests.protocol.api_lists import minor

pytestmark = pytest.mark.java

LISTENERS = {"zk": "ZK_BROKER", "kraft": "BROKER"}


@pytest.fixture(scope="module", params=first(["4.4.0", "3.9.2", "2.8.2"]))
def release(request: pytest.FixtureRequest) -> Iterator[tuple[str, Any]]:
    """A release and a JVM with its code."""
    jars = jar_paths(f"kafka-{request.param}")
    with java_gateway(jars, "-Xmx128m", *SHORT_LIVED, auto_field=True) as gateway:
        yield request.param, gateway.jvm


def test_the_lists_of_a_release(release: tuple[str, Any]) -> None:
    """The table has the lists of Kafka's own code, with and without unstable versions."""
    version, jvm = release
    ours = [listing for listing in api_lists() if listing.release == minor(version)]
    assert {listing.mode for listing in ours} == ({"kraft"} if version.startswith("4") else {"zk", "kraft"})
    for listing in ours:
        listed = _listed(jvm, listing.mode, unstable=listing.unstable)
        usual = {key: versions for key in listing.offers if (versions := listing.usual(key))}
        assert usual == listed, (listing.mode, listing.unstable)


def _listed(jvm: Any, mode: str, *, unstable: bool) -> dict[int, Versions]:
    """Return a broker's list, without APIs that it forwards to a controller that does not offer them."""
    common = jvm.org.apache.kafka.common
    listeners = getattr(common.message, "ApiMessageType$ListenerType")
    listener = getattr(listeners, LISTENERS[mode])
    methods = jvm.java.lang.Class.forName("org.apache.kafka.common.requests.ApiVersionsResponse").getMethods()
    method = next(one for one in methods if one.getName() == "filterApis")
    flags = iter((unstable, False))  # unstable versions, a receiver of client metrics
    values = {"RecordVersion": common.record.RecordVersion.current, "ListenerType": lambda: listener}
    given = [values.get(parameter.getSimpleName(), lambda: next(flags))() for parameter in method.getParameterTypes()]
    to_controller = common.protocol.ApiKeys.apisForListener(listeners.CONTROLLER)
    answer = {}
    some = common.requests.ApiVersionsResponse.filterApis(*given).iterator()
    while some.hasNext():
        entry = some.next()
        api = common.protocol.ApiKeys.forId(entry.apiKey())
        if mode == "zk" or not api.forwardable or to_controller.contains(api):
            answer[entry.apiKey()] = Versions(entry.minVersion(), entry.maxVersion())
    return answer
