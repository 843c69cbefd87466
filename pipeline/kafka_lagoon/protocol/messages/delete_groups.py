"""DeleteGroups (api key 42): delete groups of any type, with what they committed.

The coordinator of each group answers. A group that has members is error 68, one that does not exist 69. Only what the
group itself stored goes: any client may create the group again.
"""

from kafka_lagoon.wire.schema import Api, Int16, Int32, String, Versions, struct


@struct
class DeleteGroupsRequest:
    """The groups to delete."""

    groups_names: tuple[String, ...]


@struct
class DeletableGroupResult:
    """An error code, 0 if the group is deleted."""

    group_id: String
    error_code: Int16


@struct
class DeleteGroupsResponse:
    """One entry per requested group."""

    throttle_time_ms: Int32
    results: tuple[DeletableGroupResult, ...]


DELETE_GROUPS = Api(
    key=42,
    versions=Versions(0, 2),
    flexible=2,
    request=DeleteGroupsRequest,
    response=DeleteGroupsResponse,
)
