"""AlterReplicaLogDirs (api key 34): replicas moved to another directory of the same broker (KIP-113).

Each broker is asked about its own replicas, and knows no others. Surprises:

- Success means that copying has begun. DescribeLogDirs shows the copy as a future replica until it takes over.
- A partition that the broker does not have is error 9, and the choice is kept: should it come later, it comes there.
- Naming the directory that a replica is in, while it is being moved, calls the move off.
- A directory that the broker does not know is error 57, one that has failed error 56; another one that has failed
  is reason enough for error 56 too.
- Permission to alter the cluster is needed; without it each partition has error 31.
"""

from kafka_lagoon.wire.schema import Api, Int16, Int32, String, Versions, struct


@struct
class AlterReplicaLogDirTopic:
    """A topic's partitions."""

    name: String
    partitions: tuple[Int32, ...]


@struct
class AlterReplicaLogDir:
    """A directory, and the replicas that are to be in it."""

    path: String  # absolute, as in the broker's log.dirs
    topics: tuple[AlterReplicaLogDirTopic, ...]


@struct
class AlterReplicaLogDirsRequest:
    """Directories of the broker that answers."""

    dirs: tuple[AlterReplicaLogDir, ...]


@struct
class AlterReplicaLogDirPartitionResult:
    """The result for a replica."""

    partition_index: Int32
    error_code: Int16


@struct
class AlterReplicaLogDirTopicResult:
    """A topic's partitions."""

    topic_name: String
    partitions: tuple[AlterReplicaLogDirPartitionResult, ...]


@struct
class AlterReplicaLogDirsResponse:
    """One entry per partition, whichever directory it was asked for; the last one wins."""

    throttle_time_ms: Int32
    results: tuple[AlterReplicaLogDirTopicResult, ...]


ALTER_REPLICA_LOG_DIRS = Api(
    key=34,
    versions=Versions(0, 2),
    flexible=2,
    request=AlterReplicaLogDirsRequest,
    response=AlterReplicaLogDirsResponse,
)
