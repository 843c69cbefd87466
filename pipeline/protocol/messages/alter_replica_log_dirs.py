"""AlterReplicaLogDirs (api key 34): ?"""

from pipeline.wire.schema import Api, Int16, Int32, Route, String, Versions, struct


@struct
class AlterReplicaLogDirTopic:
    """?"""

    name: String
    partitions: tuple[Int32, ...]


@struct
class AlterReplicaLogDir:
    """?"""

    path: String
    topics: tuple[AlterReplicaLogDirTopic, ...]


@struct
class AlterReplicaLogDirsRequest:
    """?"""

    dirs: tuple[AlterReplicaLogDir, ...]


@struct
class AlterReplicaLogDirPartitionResult:
    """?"""

    partition_index: Int32
    error_code: Int16


@struct
class AlterReplicaLogDirTopicResult:
    """?"""

    topic_name: String
    partitions: tuple[AlterReplicaLogDirPartitionResult, ...]


@struct
class AlterReplicaLogDirsResponse:
    """?"""

    throttle_time_ms: Int32
    results: tuple[AlterReplicaLogDirTopicResult, ...]


ALTER_REPLICA_LOG_DIRS = Api(
    key=34,
    versions=Versions(0, 2),
    flexible=2,
    route=Route.BROKER,
    request=AlterReplicaLogDirsRequest,
    response=AlterReplicaLogDirsResponse,
)
