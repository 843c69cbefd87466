"""DeleteGroups (api key 42): delete groups of any type, with what they committed.

The coordinator of each group answers. A group that has members is error 68, one that does not exist 69. Only what the
group itself stored goes: any client may create the group again. From v3 on errors come with a text.
"""

from kafka_lagoon.wire.schema import Api, Int16, Int32, String, Versions, struct, wire


@struct
class DeleteGroupsRequest:
    """The groups to delete."""

    groups_names: tuple[String, ...]


@struct
class DeletableGroupResult:
    """An error code, 0 if the group is deleted."""

    group_id: String
    error_code: Int16
    error_message: String | None = wire(since=3, default=None, ignorable=True)


@struct
class DeleteGroupsResponse:
    """One entry per requested group."""

    throttle_time_ms: Int32
    results: tuple[DeletableGroupResult, ...]


DELETE_GROUPS = Api(
    key=42,
    versions=Versions(0, 3),
    flexible=2,
    request=DeleteGroupsRequest,
    response=DeleteGroupsResponse,
)
