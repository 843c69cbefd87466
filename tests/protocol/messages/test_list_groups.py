"""ListGroups, byte by byte."""

import pytest

from kafka_lagoon.errors import EncodeError
from kafka_lagoon.protocol.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from kafka_lagoon.wire.reading import decode
from kafka_lagoon.wire.writing import encode


@pytest.mark.parametrize(("version", "filter_"), [(3, "states_filter"), (4, "types_filter")])
def test_filters_are_not_ignorable(version: int, filter_: str) -> None:
    """A filter that the version lacks would list unrequested groups, so it is refused."""
    with pytest.raises(EncodeError):
        encode(ListGroupsRequest(**{filter_: ("Stable",)}), version, True)


def test_groups_without_state_or_type() -> None:
    """Versions without state or type leave the field empty."""
    decoded = decode(ListGroupsResponse, 3, True, bytes.fromhex("00000000 0000 02 0267 0263 00 00"))
    assert decoded.groups == (ListedGroup(group_id="g", protocol_type="c", group_state="", group_type=""),)
