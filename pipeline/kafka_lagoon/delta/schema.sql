CREATE TABLE IF NOT EXISTS brokers (
  snapshot_id STRING NOT NULL COMMENT 'Id of the snapshot (UUIDv7). Its rows count once table snapshots has the id; views show no others.',
  cluster STRING NOT NULL COMMENT 'Name of the cluster in the configuration.',
  cluster_id STRING COMMENT 'Kafka\'s own id of the cluster; null if no broker named it.',
  captured_at TIMESTAMP NOT NULL COMMENT 'When the run began to look at the cluster.',
  broker_id INT NOT NULL COMMENT 'node.id of the broker.',
  host STRING COMMENT 'Host that the broker advertises on our listener; null if none is known.',
  port INT COMMENT 'Port that the broker advertises on our listener; null if none is known.',
  rack STRING COMMENT 'broker.rack; null if none is set.',
  is_controller BOOLEAN COMMENT 'Whether it is the active controller: leader of the metadata quorum, or as metadata has it under ZooKeeper. Null if problem is set.',
  is_fenced BOOLEAN COMMENT 'Whether the controller has fenced it off; null if the brokers cannot say (before Kafka 2.8), or problem is set.',
  problem STRING COMMENT 'Why is_controller or is_fenced is null: Kafka\'s name of the error, NO_CONTROLLER, or NOT_DESCRIBED: DescribeCluster left the broker out. Null if there is none.',
  snapshot_date DATE NOT NULL COMMENT 'UTC day of captured_at; the table is partitioned by it.'
)
USING delta
PARTITIONED BY (snapshot_date)
COMMENT 'Brokers that the cluster knew of, one row per broker and snapshot.'
TBLPROPERTIES ('delta.enableDeletionVectors' = 'false', 'delta.checkpointInterval' = '30', 'delta.logRetentionDuration' = 'interval 3 days', 'delta.deletedFileRetentionDuration' = 'interval 3 days', 'delta.dataSkippingStatsColumns' = 'snapshot_id,cluster,cluster_id,captured_at,broker_id,host,port,rack,problem');

CREATE TABLE IF NOT EXISTS topics (
  snapshot_id STRING NOT NULL COMMENT 'Id of the snapshot (UUIDv7). Its rows count once table snapshots has the id; views show no others.',
  cluster STRING NOT NULL COMMENT 'Name of the cluster in the configuration.',
  cluster_id STRING COMMENT 'Kafka\'s own id of the cluster; null if no broker named it.',
  captured_at TIMESTAMP NOT NULL COMMENT 'When the run began to look at the cluster.',
  topic STRING NOT NULL COMMENT 'Name of the topic.',
  topic_id STRING COMMENT 'Id of the topic (22 characters, base64url); null if the brokers give none.',
  is_internal BOOLEAN COMMENT 'Whether Kafka keeps its own state in it; null if problem is set.',
  partitions INT COMMENT 'Number of partitions; null if problem is set.',
  replication_factor INT COMMENT 'Replicas of the first partition, as Kafka\'s tools print it; null if it has no partition, or problem is set.',
  problem STRING COMMENT 'Kafka\'s name of the topic\'s error; null if there is none.',
  snapshot_date DATE NOT NULL COMMENT 'UTC day of captured_at; the table is partitioned by it.'
)
USING delta
PARTITIONED BY (snapshot_date)
COMMENT 'Topics that the cluster knew of, one row per topic and snapshot.'
TBLPROPERTIES ('delta.enableDeletionVectors' = 'false', 'delta.checkpointInterval' = '30', 'delta.logRetentionDuration' = 'interval 3 days', 'delta.deletedFileRetentionDuration' = 'interval 3 days', 'delta.dataSkippingStatsColumns' = 'snapshot_id,cluster,cluster_id,captured_at,topic,topic_id,partitions,replication_factor,problem');

CREATE TABLE IF NOT EXISTS partitions (
  snapshot_id STRING NOT NULL COMMENT 'Id of the snapshot (UUIDv7). Its rows count once table snapshots has the id; views show no others.',
  cluster STRING NOT NULL COMMENT 'Name of the cluster in the configuration.',
  cluster_id STRING COMMENT 'Kafka\'s own id of the cluster; null if no broker named it.',
  captured_at TIMESTAMP NOT NULL COMMENT 'When the run began to look at the cluster.',
  topic STRING NOT NULL COMMENT 'Name of the topic.',
  topic_id STRING COMMENT 'Id of the topic (22 characters, base64url); null if the brokers give none.',
  partition INT NOT NULL COMMENT 'Partition number.',
  leader_id INT COMMENT 'Broker that leads the partition; null if none does.',
  leader_epoch INT COMMENT 'Epoch of the leader; null if the brokers do not tell it.',
  replicas ARRAY<INT> COMMENT 'Brokers that hold a replica, the preferred leader first.',
  isr ARRAY<INT> COMMENT 'Brokers whose replica is in sync.',
  offline_replicas ARRAY<INT> COMMENT 'Brokers whose replica is offline; null if the brokers do not say.',
  eligible_leader_replicas ARRAY<INT> COMMENT 'Brokers outside the ISR that may lead without loss (KIP-966); null if the cluster does not keep them.',
  last_known_elr ARRAY<INT> COMMENT 'Last known eligible leader replicas (KIP-966); null if the cluster does not keep them.',
  is_leaderless BOOLEAN COMMENT 'Whether no broker leads it: neither reads nor writes are possible.',
  is_under_replicated BOOLEAN COMMENT 'Whether fewer replicas are in sync than there are replicas.',
  is_under_min_isr BOOLEAN COMMENT 'Whether fewer replicas are in sync than min.insync.replicas; null if that setting could not be read.',
  is_at_min_isr BOOLEAN COMMENT 'Whether exactly min.insync.replicas are in sync; null if that setting could not be read.',
  is_preferred_leader BOOLEAN COMMENT 'Whether the leader is the first replica; null if it has no leader.',
  rack_count INT COMMENT 'Different racks among the replicas; null if the rack of any is unknown: none set, or the broker is down.',
  problem STRING COMMENT 'Kafka\'s name of the partition\'s error, what happened to the topic meanwhile, or why min.insync.replicas or eligible leaders are not known. Null if there is none.',
  snapshot_date DATE NOT NULL COMMENT 'UTC day of captured_at; the table is partitioned by it.'
)
USING delta
PARTITIONED BY (snapshot_date)
COMMENT 'Partitions, their leaders and replicas, one row per partition and snapshot.'
TBLPROPERTIES ('delta.enableDeletionVectors' = 'false', 'delta.checkpointInterval' = '30', 'delta.logRetentionDuration' = 'interval 3 days', 'delta.deletedFileRetentionDuration' = 'interval 3 days', 'delta.dataSkippingStatsColumns' = 'snapshot_id,cluster,cluster_id,captured_at,topic,topic_id,partition,leader_id,leader_epoch,rack_count,problem');

CREATE TABLE IF NOT EXISTS partition_offsets (
  snapshot_id STRING NOT NULL COMMENT 'Id of the snapshot (UUIDv7). Its rows count once table snapshots has the id; views show no others.',
  cluster STRING NOT NULL COMMENT 'Name of the cluster in the configuration.',
  cluster_id STRING COMMENT 'Kafka\'s own id of the cluster; null if no broker named it.',
  captured_at TIMESTAMP NOT NULL COMMENT 'When the run began to look at the cluster.',
  topic STRING NOT NULL COMMENT 'Name of the topic.',
  topic_id STRING COMMENT 'Id of the topic (22 characters, base64url); null if the brokers give none.',
  partition INT NOT NULL COMMENT 'Partition number.',
  log_start_offset BIGINT COMMENT 'First offset that can be read; null if problem is set.',
  high_watermark BIGINT COMMENT 'First offset not yet replicated to all in-sync replicas, the end for readers; null if problem is set.',
  last_stable_offset BIGINT COMMENT 'End for read_committed: where the oldest open transaction begins, else the high watermark; null if problem is set.',
  max_timestamp_offset BIGINT COMMENT 'Offset of the record with the largest timestamp; null if no record has one, the brokers are older than Kafka 3.0, or problem is set.',
  max_timestamp TIMESTAMP COMMENT 'Largest timestamp of any record; null if max_timestamp_ms is, or is outside the years 1 to 9999.',
  max_timestamp_ms BIGINT COMMENT 'The same as stored, in milliseconds since 1970; null if max_timestamp_offset is.',
  local_log_start_offset BIGINT COMMENT 'First offset on the broker\'s own disk (KIP-405); null if the brokers are older than Kafka 3.5, or problem is set.',
  tiered_offset BIGINT COMMENT 'Last offset in tiered storage (KIP-1005); null if there is none, the brokers are older than Kafka 3.9, or problem is set.',
  leader_epoch INT COMMENT 'Leader epoch at the high watermark; null if the log is empty, or the brokers do not tell it.',
  read_at TIMESTAMP COMMENT 'When the high watermark was received; null if it was not.',
  problem STRING COMMENT 'Why an offset is missing: Kafka\'s name of the first error, OFFSET_NOT_RETURNED, or what happened to the topic meanwhile. Null if there is none.',
  snapshot_date DATE NOT NULL COMMENT 'UTC day of captured_at; the table is partitioned by it.'
)
USING delta
PARTITIONED BY (snapshot_date)
COMMENT 'Log start offset, high watermark and other offsets of every partition, one row per partition and snapshot.'
TBLPROPERTIES ('delta.enableDeletionVectors' = 'false', 'delta.checkpointInterval' = '30', 'delta.logRetentionDuration' = 'interval 3 days', 'delta.deletedFileRetentionDuration' = 'interval 3 days', 'delta.dataSkippingStatsColumns' = 'snapshot_id,cluster,cluster_id,captured_at,topic,topic_id,partition,log_start_offset,high_watermark,last_stable_offset,max_timestamp_offset,max_timestamp,max_timestamp_ms,local_log_start_offset,tiered_offset,leader_epoch,read_at,problem');

CREATE TABLE IF NOT EXISTS consumer_groups (
  snapshot_id STRING NOT NULL COMMENT 'Id of the snapshot (UUIDv7). Its rows count once table snapshots has the id; views show no others.',
  cluster STRING NOT NULL COMMENT 'Name of the cluster in the configuration.',
  cluster_id STRING COMMENT 'Kafka\'s own id of the cluster; null if no broker named it.',
  captured_at TIMESTAMP NOT NULL COMMENT 'When the run began to look at the cluster.',
  group_id STRING NOT NULL COMMENT 'group.id; any text, so escape it where it is shown.',
  group_type STRING COMMENT 'classic, consumer (KIP-848), share or streams; null if the brokers cannot say.',
  protocol_type STRING COMMENT 'consumer, connect and the like; empty for groups that only store commits.',
  state STRING COMMENT 'State as Kafka spells it, e.g. Stable or Empty; null if unknown.',
  protocol STRING COMMENT 'Assignor in use; null or empty if the group has none.',
  coordinator_id INT COMMENT 'Broker that coordinates the group; null if unknown.',
  members INT COMMENT 'Number of members; null if the group could not be described.',
  group_epoch INT COMMENT 'Epoch of the group (KIP-848); null for classic groups.',
  assignment_epoch INT COMMENT 'Epoch of the target assignment (KIP-848); null for classic groups.',
  problem STRING COMMENT 'Why the group could not be described; null if it was.',
  topology_epoch INT COMMENT 'Epoch of the topology of a streams group (KIP-1071); null for other groups, and if the group has none. Null in rows of version 0.1.0.',
  snapshot_date DATE NOT NULL COMMENT 'UTC day of captured_at; the table is partitioned by it.'
)
USING delta
PARTITIONED BY (snapshot_date)
COMMENT 'Groups of any type, one row per group and snapshot.'
TBLPROPERTIES ('delta.enableDeletionVectors' = 'false', 'delta.checkpointInterval' = '30', 'delta.logRetentionDuration' = 'interval 3 days', 'delta.deletedFileRetentionDuration' = 'interval 3 days', 'delta.dataSkippingStatsColumns' = 'snapshot_id,cluster,cluster_id,captured_at,group_id,group_type,protocol_type,state,protocol,coordinator_id,members,group_epoch,assignment_epoch,problem,topology_epoch');

CREATE TABLE IF NOT EXISTS group_members (
  snapshot_id STRING NOT NULL COMMENT 'Id of the snapshot (UUIDv7). Its rows count once table snapshots has the id; views show no others.',
  cluster STRING NOT NULL COMMENT 'Name of the cluster in the configuration.',
  cluster_id STRING COMMENT 'Kafka\'s own id of the cluster; null if no broker named it.',
  captured_at TIMESTAMP NOT NULL COMMENT 'When the run began to look at the cluster.',
  group_id STRING NOT NULL COMMENT 'group.id of the member\'s group.',
  member_id STRING NOT NULL COMMENT 'Id of the member within the group.',
  group_instance_id STRING COMMENT 'group.instance.id of a static member (KIP-345); null if dynamic.',
  client_id STRING COMMENT 'client.id of the member.',
  client_host STRING COMMENT 'Address that the coordinator sees.',
  rack_id STRING COMMENT 'client.rack of the member; null if none is set or known.',
  subscribed_topics ARRAY<STRING> COMMENT 'Topics the member subscribes to by name; null if it has a pattern, does not say, or problem is set.',
  assignment ARRAY<STRUCT<topic: STRING COMMENT 'Name of the topic; null if only its id is known.', topic_id: STRING COMMENT 'Id of the topic; null if only its name is known.', partitions: ARRAY<INT> COMMENT 'Partition numbers.'>> COMMENT 'Partitions the member owns; null if the group is rebalancing or its protocol is not Kafka\'s consumer protocol.',
  target_assignment ARRAY<STRUCT<topic: STRING COMMENT 'Name of the topic; null if only its id is known.', topic_id: STRING COMMENT 'Id of the topic; null if only its name is known.', partitions: ARRAY<INT> COMMENT 'Partition numbers.'>> COMMENT 'Partitions the member is to own (KIP-848); null for classic and share groups.',
  member_epoch INT COMMENT 'Epoch of the member (KIP-848); null for classic groups.',
  problem STRING COMMENT 'Why it is not known what the member owns: MEMBER_PROTOCOL_UNREADABLE, ASSIGNMENT_NOT_RETURNED, TOPOLOGY_NOT_RETURNED, or UNKNOWN_TOPIC_ID: a topic that no broker names by the id in the assignment. Null if it is known.',
  subscribed_pattern STRING COMMENT 'Regular expression of topics that the member of a consumer group subscribes to (KIP-848); null if it has none. Null in rows of version 0.1.0.',
  member_type STRING COMMENT 'classic or consumer (streams): the protocol that the member speaks, which differs from its group\'s while that is migrated (KIP-1099); null if brokers do not tell. Null in rows of version 0.1.0.',
  topology_epoch INT COMMENT 'Epoch of the topology that the member of a streams group has; null for other groups. Null in rows of version 0.1.0.',
  process_id STRING COMMENT 'Process of the member of a streams group; members of one share its state. Null for other groups. Null in rows of version 0.1.0.',
  active_tasks ARRAY<STRUCT<subtopology_id: STRING COMMENT 'Id of the subtopology.', partitions: ARRAY<INT> COMMENT 'Numbers of the tasks: of the partitions that they read.'>> COMMENT 'Tasks that the member of a streams group works on; null for other groups. Null in rows of version 0.1.0.',
  standby_tasks ARRAY<STRUCT<subtopology_id: STRING COMMENT 'Id of the subtopology.', partitions: ARRAY<INT> COMMENT 'Numbers of the tasks: of the partitions that they read.'>> COMMENT 'Tasks whose state it keeps for others; null for other groups. Null in rows of version 0.1.0.',
  warmup_tasks ARRAY<STRUCT<subtopology_id: STRING COMMENT 'Id of the subtopology.', partitions: ARRAY<INT> COMMENT 'Numbers of the tasks: of the partitions that they read.'>> COMMENT 'Tasks whose state it reads before it takes them over; null for other groups. Null in rows of version 0.1.0.',
  snapshot_date DATE NOT NULL COMMENT 'UTC day of captured_at; the table is partitioned by it.'
)
USING delta
PARTITIONED BY (snapshot_date)
COMMENT 'Members of groups and what they were assigned, one row per member and snapshot.'
TBLPROPERTIES ('delta.enableDeletionVectors' = 'false', 'delta.checkpointInterval' = '30', 'delta.logRetentionDuration' = 'interval 3 days', 'delta.deletedFileRetentionDuration' = 'interval 3 days', 'delta.dataSkippingStatsColumns' = 'snapshot_id,cluster,cluster_id,captured_at,group_id,member_id,group_instance_id,client_id,client_host,rack_id,member_epoch,problem,subscribed_pattern,member_type,topology_epoch,process_id');

CREATE TABLE IF NOT EXISTS committed_offsets (
  snapshot_id STRING NOT NULL COMMENT 'Id of the snapshot (UUIDv7). Its rows count once table snapshots has the id; views show no others.',
  cluster STRING NOT NULL COMMENT 'Name of the cluster in the configuration.',
  cluster_id STRING COMMENT 'Kafka\'s own id of the cluster; null if no broker named it.',
  captured_at TIMESTAMP NOT NULL COMMENT 'When the run began to look at the cluster.',
  group_id STRING NOT NULL COMMENT 'group.id of the group.',
  topic STRING NOT NULL COMMENT 'Name of the topic, which may be deleted by now.',
  topic_id STRING COMMENT 'Id of the topic (22 characters, base64url); null if the brokers give none.',
  partition INT NOT NULL COMMENT 'Partition number.',
  committed_offset BIGINT COMMENT 'Next offset that the group will read; null if there is none or it could not be read.',
  committed_leader_epoch INT COMMENT 'Leader epoch of the last record consumed; null if the group gave none.',
  metadata STRING COMMENT 'Free text stored with the commit; null if there is none.',
  read_at TIMESTAMP COMMENT 'When the commit was received; null if it was not.',
  problem STRING COMMENT 'Why the commit could not be read; or UNSTABLE_OFFSET_COMMIT: a transaction is about to replace it; or what hides the topic, UNKNOWN_TOPIC_OR_PARTITION if it is not there any more. Else null.',
  snapshot_date DATE NOT NULL COMMENT 'UTC day of captured_at; the table is partitioned by it.'
)
USING delta
PARTITIONED BY (snapshot_date)
COMMENT 'Offsets that groups have stored, one row per group, partition and snapshot.'
TBLPROPERTIES ('delta.enableDeletionVectors' = 'false', 'delta.checkpointInterval' = '30', 'delta.logRetentionDuration' = 'interval 3 days', 'delta.deletedFileRetentionDuration' = 'interval 3 days', 'delta.dataSkippingStatsColumns' = 'snapshot_id,cluster,cluster_id,captured_at,group_id,topic,topic_id,partition,committed_offset,committed_leader_epoch,metadata,read_at,problem');

CREATE TABLE IF NOT EXISTS consumer_lag (
  snapshot_id STRING NOT NULL COMMENT 'Id of the snapshot (UUIDv7). Its rows count once table snapshots has the id; views show no others.',
  cluster STRING NOT NULL COMMENT 'Name of the cluster in the configuration.',
  cluster_id STRING COMMENT 'Kafka\'s own id of the cluster; null if no broker named it.',
  captured_at TIMESTAMP NOT NULL COMMENT 'When the run began to look at the cluster.',
  group_id STRING NOT NULL COMMENT 'group.id of the group.',
  group_type STRING COMMENT 'classic, consumer (KIP-848), share or streams; null if the brokers cannot say.',
  group_state STRING COMMENT 'State of the group as Kafka spells it; null if unknown.',
  topic STRING NOT NULL COMMENT 'Name of the topic, which may be deleted by now.',
  topic_id STRING COMMENT 'Id of the topic (22 characters, base64url); null if the brokers give none.',
  partition INT NOT NULL COMMENT 'Partition number.',
  committed_offset BIGINT COMMENT 'Next offset that the group will read; null if it has no commit, as share groups, or unknown.',
  log_start_offset BIGINT COMMENT 'First offset that can be read; null if unknown.',
  high_watermark BIGINT COMMENT 'End for readers, read after the commit; null if unknown.',
  last_stable_offset BIGINT COMMENT 'End for read_committed, read after the commit; null if unknown.',
  lag BIGINT COMMENT 'high_watermark - committed_offset in offsets, raw: negative if the commit lies past the end. Null if either is unknown. Of share groups what their coordinator counts (KIP-1226).',
  lag_lower_bound BIGINT COMMENT 'The same with the end read before the commit: the true lag at the commit\'s instant lies between both. Null if either is unknown, and for share groups.',
  lag_read_committed BIGINT COMMENT 'last_stable_offset - committed_offset, raw; null if either is unknown, and for share groups.',
  lag_basis STRING NOT NULL COMMENT 'committed: lag is given. log_start: no commit, so lag is null and high_watermark - log_start_offset is what a reader from earliest faces. share: lag is given, and counts records from share_start_offset on that are not done, in any order. unknown: a side is missing, see problem.',
  records_lost BIGINT COMMENT 'Offsets deleted before the group read them: log_start_offset - committed_offset, 0 if the commit is not below the start; null if either is unknown. Of share groups 0, or null if share_start_offset is below the start, because records after it may have been done.',
  retention_margin BIGINT COMMENT 'committed_offset - log_start_offset, raw: how many offsets retention may delete before the group loses records. Negative if it already has; null if either is unknown. Of share groups from share_start_offset.',
  time_lag_ms BIGINT COMMENT 'Age in milliseconds of the first unread record: our clock when it was fetched minus first_unread_timestamp, raw: negative if that lies ahead. 0 if there is none; null if time_lag_problem or lag says why.',
  time_lag_method STRING COMMENT 'How time_lag_ms was found. exact: from the record at the commit. next_after_gap: from the first one after it, because compaction, a marker or an aborted transaction has its offset. caught_up: there is no record after the commit, so 0. below_log_start: the record is deleted, from the first that is left. blocked_by_open_transaction: from the record at the commit, which read_committed does not return yet. batch_bound: at least so old, by the header of its batch. interpolated: when the offset was written, from the times of two snapshots. unreadable, not_measured: null, time_lag_problem says why. Null if lag is, and for share groups.',
  first_unread_timestamp TIMESTAMP COMMENT 'Timestamp of the first unread record; a bound or an estimate where time_lag_method says so. Null if there is none, it is not known, or outside the years 1 to 9999.',
  member_id STRING COMMENT 'Member that owns the partition, of a share group the first by id of those that do; null if none does, or problem is set.',
  client_id STRING COMMENT 'client.id of that member.',
  client_host STRING COMMENT 'Address of that member as the coordinator sees it.',
  problem STRING COMMENT 'Why a side, or who owns the partition, is not known; null if both are.',
  time_lag_problem STRING COMMENT 'Why the first unread record is not known: Kafka\'s name of the error, COMMIT_PAST_END, LOG_TRUNCATED (by the leader epoch of the commit), IN_TIERED_STORAGE (which is not read), NO_TIMESTAMP, NO_RECORD_RETURNED, GAP_TOO_LONG, TIME_LAG_BUDGET_USED_UP, TIME_LAG_OFF, NO_EARLIER_SNAPSHOT, HISTORY_UNREADABLE, EXECUTORS_FAILED, or what table record_problems calls it. Null if it is known, and in rows of version 0.1.0.',
  first_unread_offset BIGINT COMMENT 'Offset of the first unread record, not below committed_offset; null if it was not read.',
  first_unread_timestamp_type STRING COMMENT 'create_time (the producer\'s clock) or log_append_time (the broker\'s); null if the record was not read, or has no timestamp.',
  share_start_offset BIGINT COMMENT 'First offset that a share group has not done (KIP-932); null for other groups, or if problem is set.',
  snapshot_date DATE NOT NULL COMMENT 'UTC day of captured_at; the table is partitioned by it.'
)
USING delta
PARTITIONED BY (snapshot_date)
COMMENT 'How far each group is behind, one row per group, partition (committed, assigned or subscribed) and snapshot.'
TBLPROPERTIES ('delta.enableDeletionVectors' = 'false', 'delta.checkpointInterval' = '30', 'delta.logRetentionDuration' = 'interval 3 days', 'delta.deletedFileRetentionDuration' = 'interval 3 days', 'delta.dataSkippingStatsColumns' = 'snapshot_id,cluster,cluster_id,captured_at,group_id,group_type,group_state,topic,topic_id,partition,committed_offset,log_start_offset,high_watermark,last_stable_offset,lag,lag_lower_bound,lag_read_committed,lag_basis,records_lost,retention_margin,time_lag_ms,time_lag_method,first_unread_timestamp,member_id,client_id,client_host,problem,time_lag_problem,first_unread_offset,first_unread_timestamp_type,share_start_offset');

CREATE TABLE IF NOT EXISTS configs (
  snapshot_id STRING NOT NULL COMMENT 'Id of the snapshot (UUIDv7). Its rows count once table snapshots has the id; views show no others.',
  cluster STRING NOT NULL COMMENT 'Name of the cluster in the configuration.',
  cluster_id STRING COMMENT 'Kafka\'s own id of the cluster; null if no broker named it.',
  captured_at TIMESTAMP NOT NULL COMMENT 'When the run began to look at the cluster.',
  resource_type STRING NOT NULL COMMENT 'topic, broker, client-metrics or group.',
  resource_name STRING NOT NULL COMMENT 'Name of the topic, group or client metrics; id of the broker, or <default>: the dynamic configs of all brokers.',
  name STRING NOT NULL COMMENT 'Name of the config.',
  value STRING COMMENT 'Its value; null if it is sensitive, or has none.',
  source STRING COMMENT 'Where the value comes from, as Kafka names it; null if the broker does not return it.',
  config_type STRING COMMENT 'Type of its value, as Kafka names it: BOOLEAN, INT, LIST, PASSWORD and so on; null if the broker does not say (before Kafka 2.6, or of a config that it does not know).',
  is_default BOOLEAN NOT NULL COMMENT 'Whether nobody has set it.',
  is_sensitive BOOLEAN NOT NULL COMMENT 'Whether its value is secret: it is never stored.',
  is_read_only BOOLEAN NOT NULL COMMENT 'Whether it cannot be changed while the broker runs.',
  synonyms ARRAY<STRUCT<name: STRING COMMENT 'Name of the config there.', value: STRING COMMENT 'Its value there; null if it is sensitive, or has none.', source: STRING COMMENT 'The source, as Kafka names it.'>> NOT NULL COMMENT 'Values that it has, or would have, from other sources.',
  snapshot_date DATE NOT NULL COMMENT 'UTC day of captured_at; the table is partitioned by it.'
)
USING delta
PARTITIONED BY (snapshot_date)
COMMENT 'Configs of topics, brokers, groups and client metrics, defaults too, one row per resource, config and snapshot.'
TBLPROPERTIES ('delta.enableDeletionVectors' = 'false', 'delta.checkpointInterval' = '30', 'delta.logRetentionDuration' = 'interval 3 days', 'delta.deletedFileRetentionDuration' = 'interval 3 days', 'delta.dataSkippingStatsColumns' = 'snapshot_id,cluster,cluster_id,captured_at,resource_type,resource_name,name,value,source,config_type');

CREATE TABLE IF NOT EXISTS log_dirs (
  snapshot_id STRING NOT NULL COMMENT 'Id of the snapshot (UUIDv7). Its rows count once table snapshots has the id; views show no others.',
  cluster STRING NOT NULL COMMENT 'Name of the cluster in the configuration.',
  cluster_id STRING COMMENT 'Kafka\'s own id of the cluster; null if no broker named it.',
  captured_at TIMESTAMP NOT NULL COMMENT 'When the run began to look at the cluster.',
  broker_id INT NOT NULL COMMENT 'node.id of the broker.',
  log_dir STRING NOT NULL COMMENT 'Path of the directory on the broker.',
  topic STRING COMMENT 'Name of the topic; null if the directory has no replicas, or has failed.',
  topic_id STRING COMMENT 'Id of the topic; null if brokers give no ids, if the topic is not in table topics (deleted meanwhile, or what is left of it), or without a topic.',
  partition INT COMMENT 'Partition number; null without a topic.',
  size_bytes BIGINT COMMENT 'Bytes of this replica on disk, without remote storage; null without a topic.',
  offset_lag BIGINT COMMENT 'Offsets from its end to the high watermark, or to the end of the replica that it will replace; null without a topic.',
  is_future BOOLEAN COMMENT 'Whether it will replace the replica in another directory of the broker; null without a topic.',
  total_bytes BIGINT COMMENT 'Size of the directory\'s volume; null before Kafka 3.3.',
  usable_bytes BIGINT COMMENT 'Free bytes of the directory\'s volume; null before Kafka 3.3.',
  is_cordoned BOOLEAN COMMENT 'Whether the directory takes no new replicas (KIP-1066); null if the broker does not return it.',
  problem STRING COMMENT 'Kafka\'s name of the directory\'s error; null if there is none.',
  snapshot_date DATE NOT NULL COMMENT 'UTC day of captured_at; the table is partitioned by it.'
)
USING delta
PARTITIONED BY (snapshot_date)
COMMENT 'Replicas on the disks of brokers, one row per broker, log directory, replica and snapshot.'
TBLPROPERTIES ('delta.enableDeletionVectors' = 'false', 'delta.checkpointInterval' = '30', 'delta.logRetentionDuration' = 'interval 3 days', 'delta.deletedFileRetentionDuration' = 'interval 3 days', 'delta.dataSkippingStatsColumns' = 'snapshot_id,cluster,cluster_id,captured_at,broker_id,log_dir,topic,topic_id,partition,size_bytes,offset_lag,total_bytes,usable_bytes,problem');

CREATE TABLE IF NOT EXISTS quorum (
  snapshot_id STRING NOT NULL COMMENT 'Id of the snapshot (UUIDv7). Its rows count once table snapshots has the id; views show no others.',
  cluster STRING NOT NULL COMMENT 'Name of the cluster in the configuration.',
  cluster_id STRING COMMENT 'Kafka\'s own id of the cluster; null if no broker named it.',
  captured_at TIMESTAMP NOT NULL COMMENT 'When the run began to look at the cluster.',
  replica_id INT NOT NULL COMMENT 'node.id of the controller or broker.',
  role STRING NOT NULL COMMENT 'leader, voter or observer.',
  leader_id INT COMMENT 'Active controller; null while there is none.',
  leader_epoch INT NOT NULL COMMENT 'Epoch of the active controller.',
  high_watermark BIGINT COMMENT 'End of what a majority of the voters has; null while the leader does not know it.',
  directory_id STRING COMMENT 'Id of the replica\'s log directory (KIP-853); null if it has none, or before Kafka 3.9.',
  log_end_offset BIGINT COMMENT 'End of its copy; null while the leader does not know it.',
  lag BIGINT COMMENT 'Offsets that it is behind the leader\'s end; null if either end is unknown.',
  last_fetch_at TIMESTAMP COMMENT 'When it last fetched; null if the leader does not know it, or before Kafka 3.3.',
  last_caught_up_at TIMESTAMP COMMENT 'When it last had everything; null if the leader does not know it, or before Kafka 3.3.',
  listeners ARRAY<STRING> COMMENT 'Where the controller listens, as name://host:port; empty for brokers; null before Kafka 3.9.',
  snapshot_date DATE NOT NULL COMMENT 'UTC day of captured_at; the table is partitioned by it.'
)
USING delta
PARTITIONED BY (snapshot_date)
COMMENT 'The KRaft metadata quorum, one row per controller or broker that replicates the metadata log, and snapshot.'
TBLPROPERTIES ('delta.enableDeletionVectors' = 'false', 'delta.checkpointInterval' = '30', 'delta.logRetentionDuration' = 'interval 3 days', 'delta.deletedFileRetentionDuration' = 'interval 3 days', 'delta.dataSkippingStatsColumns' = 'snapshot_id,cluster,cluster_id,captured_at,replica_id,role,leader_id,leader_epoch,high_watermark,directory_id,log_end_offset,lag,last_fetch_at,last_caught_up_at');

CREATE TABLE IF NOT EXISTS features (
  snapshot_id STRING NOT NULL COMMENT 'Id of the snapshot (UUIDv7). Its rows count once table snapshots has the id; views show no others.',
  cluster STRING NOT NULL COMMENT 'Name of the cluster in the configuration.',
  cluster_id STRING COMMENT 'Kafka\'s own id of the cluster; null if no broker named it.',
  captured_at TIMESTAMP NOT NULL COMMENT 'When the run began to look at the cluster.',
  broker_id INT NOT NULL COMMENT 'node.id of the broker.',
  feature STRING NOT NULL COMMENT 'Name of the feature.',
  lowest INT COMMENT 'Lowest level that the broker supports; null if it does not say.',
  highest INT COMMENT 'Highest level that the broker supports; null if it does not say.',
  finalized INT COMMENT 'Level that is in force in the cluster, as this broker knows it; null if the feature is off.',
  snapshot_date DATE NOT NULL COMMENT 'UTC day of captured_at; the table is partitioned by it.'
)
USING delta
PARTITIONED BY (snapshot_date)
COMMENT 'Features (such as metadata.version), one row per broker, feature and snapshot.'
TBLPROPERTIES ('delta.enableDeletionVectors' = 'false', 'delta.checkpointInterval' = '30', 'delta.logRetentionDuration' = 'interval 3 days', 'delta.deletedFileRetentionDuration' = 'interval 3 days', 'delta.dataSkippingStatsColumns' = 'snapshot_id,cluster,cluster_id,captured_at,broker_id,feature,lowest,highest,finalized');

CREATE TABLE IF NOT EXISTS api_versions (
  snapshot_id STRING NOT NULL COMMENT 'Id of the snapshot (UUIDv7). Its rows count once table snapshots has the id; views show no others.',
  cluster STRING NOT NULL COMMENT 'Name of the cluster in the configuration.',
  cluster_id STRING COMMENT 'Kafka\'s own id of the cluster; null if no broker named it.',
  captured_at TIMESTAMP NOT NULL COMMENT 'When the run began to look at the cluster.',
  broker_id INT NOT NULL COMMENT 'node.id of the broker.',
  api_key INT NOT NULL COMMENT 'Kafka\'s number of the API.',
  api STRING NOT NULL COMMENT 'Kafka\'s name of the API; UNKNOWN_n if it is newer than this program.',
  lowest INT NOT NULL COMMENT 'Lowest version that the broker accepts.',
  highest INT NOT NULL COMMENT 'Highest version that the broker accepts.',
  spoken INT COMMENT 'Version that we speak with this broker; null if there is none in common.',
  snapshot_date DATE NOT NULL COMMENT 'UTC day of captured_at; the table is partitioned by it.'
)
USING delta
PARTITIONED BY (snapshot_date)
COMMENT 'APIs that brokers offer on our listener, one row per broker, API and snapshot.'
TBLPROPERTIES ('delta.enableDeletionVectors' = 'false', 'delta.checkpointInterval' = '30', 'delta.logRetentionDuration' = 'interval 3 days', 'delta.deletedFileRetentionDuration' = 'interval 3 days', 'delta.dataSkippingStatsColumns' = 'snapshot_id,cluster,cluster_id,captured_at,broker_id,api_key,api,lowest,highest,spoken');

CREATE TABLE IF NOT EXISTS acls (
  snapshot_id STRING NOT NULL COMMENT 'Id of the snapshot (UUIDv7). Its rows count once table snapshots has the id; views show no others.',
  cluster STRING NOT NULL COMMENT 'Name of the cluster in the configuration.',
  cluster_id STRING COMMENT 'Kafka\'s own id of the cluster; null if no broker named it.',
  captured_at TIMESTAMP NOT NULL COMMENT 'When the run began to look at the cluster.',
  resource_type STRING NOT NULL COMMENT 'TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID, DELEGATION_TOKEN or USER.',
  resource_name STRING NOT NULL COMMENT 'Name or prefix; * with LITERAL is every name.',
  pattern_type STRING NOT NULL COMMENT 'LITERAL or PREFIXED.',
  principal STRING NOT NULL COMMENT 'Who, as type:name; User:* is everybody.',
  host STRING NOT NULL COMMENT 'From which address; * is every one.',
  operation STRING NOT NULL COMMENT 'Operation as Kafka names it.',
  permission STRING NOT NULL COMMENT 'ALLOW or DENY.',
  snapshot_date DATE NOT NULL COMMENT 'UTC day of captured_at; the table is partitioned by it.'
)
USING delta
PARTITIONED BY (snapshot_date)
COMMENT 'ACLs of the cluster, one row per ACL and snapshot.'
TBLPROPERTIES ('delta.enableDeletionVectors' = 'false', 'delta.checkpointInterval' = '30', 'delta.logRetentionDuration' = 'interval 3 days', 'delta.deletedFileRetentionDuration' = 'interval 3 days', 'delta.dataSkippingStatsColumns' = 'snapshot_id,cluster,cluster_id,captured_at,resource_type,resource_name,pattern_type,principal,host,operation,permission');

CREATE TABLE IF NOT EXISTS quotas (
  snapshot_id STRING NOT NULL COMMENT 'Id of the snapshot (UUIDv7). Its rows count once table snapshots has the id; views show no others.',
  cluster STRING NOT NULL COMMENT 'Name of the cluster in the configuration.',
  cluster_id STRING COMMENT 'Kafka\'s own id of the cluster; null if no broker named it.',
  captured_at TIMESTAMP NOT NULL COMMENT 'When the run began to look at the cluster.',
  user STRING COMMENT 'User, or <default>: all users without a quota of their own; null if the entity has no user.',
  client_id STRING COMMENT 'client.id, or <default>: all without a quota of their own; null if the entity has none.',
  ip STRING COMMENT 'Address of clients, or <default>: all without a quota of their own; null if the entity has none.',
  name STRING NOT NULL COMMENT 'Name of the limit: producer_byte_rate, consumer_byte_rate, request_percentage and so on.',
  value DOUBLE NOT NULL COMMENT 'The limit: bytes/s, percent of a thread, partition changes/s or connections/s.',
  snapshot_date DATE NOT NULL COMMENT 'UTC day of captured_at; the table is partitioned by it.'
)
USING delta
PARTITIONED BY (snapshot_date)
COMMENT 'Client quotas, one row per entity, limit and snapshot. An entity is a user, a client.id, both together, or an address.'
TBLPROPERTIES ('delta.enableDeletionVectors' = 'false', 'delta.checkpointInterval' = '30', 'delta.logRetentionDuration' = 'interval 3 days', 'delta.deletedFileRetentionDuration' = 'interval 3 days', 'delta.dataSkippingStatsColumns' = 'snapshot_id,cluster,cluster_id,captured_at,user,client_id,ip,name');

CREATE TABLE IF NOT EXISTS scram_users (
  snapshot_id STRING NOT NULL COMMENT 'Id of the snapshot (UUIDv7). Its rows count once table snapshots has the id; views show no others.',
  cluster STRING NOT NULL COMMENT 'Name of the cluster in the configuration.',
  cluster_id STRING COMMENT 'Kafka\'s own id of the cluster; null if no broker named it.',
  captured_at TIMESTAMP NOT NULL COMMENT 'When the run began to look at the cluster.',
  user STRING NOT NULL COMMENT 'Name of the user, without the User: of ACLs.',
  mechanism STRING COMMENT 'SCRAM-SHA-256 or SCRAM-SHA-512; null if problem is set.',
  iterations INT COMMENT 'How often the password was hashed; null if problem is set.',
  problem STRING COMMENT 'Kafka\'s name of the error for this user; null if there is none.',
  snapshot_date DATE NOT NULL COMMENT 'UTC day of captured_at; the table is partitioned by it.'
)
USING delta
PARTITIONED BY (snapshot_date)
COMMENT 'Users that can log in by SCRAM, one row per user, mechanism and snapshot. Brokers return no salts and no keys.'
TBLPROPERTIES ('delta.enableDeletionVectors' = 'false', 'delta.checkpointInterval' = '30', 'delta.logRetentionDuration' = 'interval 3 days', 'delta.deletedFileRetentionDuration' = 'interval 3 days', 'delta.dataSkippingStatsColumns' = 'snapshot_id,cluster,cluster_id,captured_at,user,mechanism,iterations,problem');

CREATE TABLE IF NOT EXISTS delegation_tokens (
  snapshot_id STRING NOT NULL COMMENT 'Id of the snapshot (UUIDv7). Its rows count once table snapshots has the id; views show no others.',
  cluster STRING NOT NULL COMMENT 'Name of the cluster in the configuration.',
  cluster_id STRING COMMENT 'Kafka\'s own id of the cluster; null if no broker named it.',
  captured_at TIMESTAMP NOT NULL COMMENT 'When the run began to look at the cluster.',
  token_id STRING NOT NULL COMMENT 'Id of the token, which is its user name.',
  owner STRING NOT NULL COMMENT 'Whom it stands for, as type:name.',
  requester STRING COMMENT 'Who asked for it, as type:name; null before Kafka 3.3.',
  renewers ARRAY<STRING> NOT NULL COMMENT 'Who may renew it besides its owner, as type:name.',
  issued_at TIMESTAMP NOT NULL COMMENT 'When it was made.',
  expires_at TIMESTAMP NOT NULL COMMENT 'When it expires unless it is renewed; expired ones stay listed for a while.',
  max_lifetime_at TIMESTAMP NOT NULL COMMENT 'When it expires for good.',
  snapshot_date DATE NOT NULL COMMENT 'UTC day of captured_at; the table is partitioned by it.'
)
USING delta
PARTITIONED BY (snapshot_date)
COMMENT 'Delegation tokens that the principal may see, one row per token and snapshot. Their secrets are not kept.'
TBLPROPERTIES ('delta.enableDeletionVectors' = 'false', 'delta.checkpointInterval' = '30', 'delta.logRetentionDuration' = 'interval 3 days', 'delta.deletedFileRetentionDuration' = 'interval 3 days', 'delta.dataSkippingStatsColumns' = 'snapshot_id,cluster,cluster_id,captured_at,token_id,owner,requester,issued_at,expires_at,max_lifetime_at');

CREATE TABLE IF NOT EXISTS reassignments (
  snapshot_id STRING NOT NULL COMMENT 'Id of the snapshot (UUIDv7). Its rows count once table snapshots has the id; views show no others.',
  cluster STRING NOT NULL COMMENT 'Name of the cluster in the configuration.',
  cluster_id STRING COMMENT 'Kafka\'s own id of the cluster; null if no broker named it.',
  captured_at TIMESTAMP NOT NULL COMMENT 'When the run began to look at the cluster.',
  topic STRING NOT NULL COMMENT 'Name of the topic.',
  topic_id STRING COMMENT 'Id of the topic (22 characters, base64url); null if the brokers give none.',
  partition INT NOT NULL COMMENT 'Partition number.',
  replicas ARRAY<INT> NOT NULL COMMENT 'Brokers that have a replica now, those that are added or removed included.',
  adding_replicas ARRAY<INT> NOT NULL COMMENT 'Those of them that are being added.',
  removing_replicas ARRAY<INT> NOT NULL COMMENT 'Those of them that will be removed.',
  snapshot_date DATE NOT NULL COMMENT 'UTC day of captured_at; the table is partitioned by it.'
)
USING delta
PARTITIONED BY (snapshot_date)
COMMENT 'Partitions that are being moved to other brokers, one row per partition and snapshot.'
TBLPROPERTIES ('delta.enableDeletionVectors' = 'false', 'delta.checkpointInterval' = '30', 'delta.logRetentionDuration' = 'interval 3 days', 'delta.deletedFileRetentionDuration' = 'interval 3 days', 'delta.dataSkippingStatsColumns' = 'snapshot_id,cluster,cluster_id,captured_at,topic,topic_id,partition');

CREATE TABLE IF NOT EXISTS transactions (
  snapshot_id STRING NOT NULL COMMENT 'Id of the snapshot (UUIDv7). Its rows count once table snapshots has the id; views show no others.',
  cluster STRING NOT NULL COMMENT 'Name of the cluster in the configuration.',
  cluster_id STRING COMMENT 'Kafka\'s own id of the cluster; null if no broker named it.',
  captured_at TIMESTAMP NOT NULL COMMENT 'When the run began to look at the cluster.',
  transactional_id STRING NOT NULL COMMENT 'transactional.id of the producer.',
  state STRING NOT NULL COMMENT 'State as Kafka spells it, e.g. Ongoing.',
  producer_id BIGINT NOT NULL COMMENT 'Id of the producer.',
  producer_epoch INT COMMENT 'Its epoch; null if problem is set.',
  coordinator_id INT NOT NULL COMMENT 'Broker that coordinates the transaction.',
  timeout_ms INT COMMENT 'transaction.timeout.ms of the producer; null if problem is set.',
  started_at TIMESTAMP COMMENT 'When the transaction began, or the last one if none is open; null if the producer has begun none.',
  duration_ms BIGINT COMMENT 'Milliseconds since started_at by our clock, as kafka-transactions.sh shows it; null if that is.',
  partitions ARRAY<STRUCT<topic: STRING COMMENT 'Name of the topic; null if only its id is known.', topic_id: STRING COMMENT 'Id of the topic; null if only its name is known.', partitions: ARRAY<INT> COMMENT 'Partition numbers.'>> COMMENT 'Partitions of the open transaction that have no marker yet, without topics that we may not describe; empty if none is open, null if problem is set.',
  problem STRING COMMENT 'Why the listed id could not be described; null if it was.',
  snapshot_date DATE NOT NULL COMMENT 'UTC day of captured_at; the table is partitioned by it.'
)
USING delta
PARTITIONED BY (snapshot_date)
COMMENT 'Transactional ids that coordinators know and their transactions, one row per id and snapshot.'
TBLPROPERTIES ('delta.enableDeletionVectors' = 'false', 'delta.checkpointInterval' = '30', 'delta.logRetentionDuration' = 'interval 3 days', 'delta.deletedFileRetentionDuration' = 'interval 3 days', 'delta.dataSkippingStatsColumns' = 'snapshot_id,cluster,cluster_id,captured_at,transactional_id,state,producer_id,producer_epoch,coordinator_id,timeout_ms,started_at,duration_ms,problem');

CREATE TABLE IF NOT EXISTS producers (
  snapshot_id STRING NOT NULL COMMENT 'Id of the snapshot (UUIDv7). Its rows count once table snapshots has the id; views show no others.',
  cluster STRING NOT NULL COMMENT 'Name of the cluster in the configuration.',
  cluster_id STRING COMMENT 'Kafka\'s own id of the cluster; null if no broker named it.',
  captured_at TIMESTAMP NOT NULL COMMENT 'When the run began to look at the cluster.',
  topic STRING NOT NULL COMMENT 'Name of the topic.',
  topic_id STRING COMMENT 'Id of the topic (22 characters, base64url); null if the brokers give none.',
  partition INT NOT NULL COMMENT 'Partition number.',
  producer_id BIGINT COMMENT 'Id of the producer; null if the leader did not answer for the partition.',
  producer_epoch INT COMMENT 'Its epoch; null if producer_id is.',
  last_sequence INT COMMENT 'Sequence number of its last record; null if the broker knows none.',
  last_written_at TIMESTAMP COMMENT 'Timestamp of its last record; null if the broker knows none.',
  coordinator_epoch INT COMMENT 'Epoch of the coordinator that ended its last transaction; null if none did.',
  open_since_offset BIGINT COMMENT 'First offset of its open transaction; null if it has none.',
  transactional_id STRING COMMENT 'transactional.id that a coordinator lists for the producer; null if none does.',
  idle_ms BIGINT COMMENT 'Milliseconds since last_written_at, by our clock; null if that is.',
  is_hanging BOOLEAN COMMENT 'Whether its transaction is open and no coordinator will end it, by the rules of kafka-transactions.sh find-hanging; null if the coordinators could not be asked.',
  evidence STRING COMMENT 'What is_hanging follows from. recent: its last record is at most 15 minutes old. in_transaction: its coordinator has the partition in an open transaction. Hanging: no_transaction (no coordinator lists the producer; they leave out transactional ids that we may not describe, see table coverage), transactional_id_gone, or partition_not_in_transaction. Null without an open transaction.',
  problem STRING COMMENT 'Why the producers of the partition, or whether this one\'s transaction hangs, are not known; null if they are.',
  snapshot_date DATE NOT NULL COMMENT 'UTC day of captured_at; the table is partitioned by it.'
)
USING delta
PARTITIONED BY (snapshot_date)
COMMENT 'Producers of the partitions with an open transaction, one row per partition, producer and snapshot.'
TBLPROPERTIES ('delta.enableDeletionVectors' = 'false', 'delta.checkpointInterval' = '30', 'delta.logRetentionDuration' = 'interval 3 days', 'delta.deletedFileRetentionDuration' = 'interval 3 days', 'delta.dataSkippingStatsColumns' = 'snapshot_id,cluster,cluster_id,captured_at,topic,topic_id,partition,producer_id,producer_epoch,last_sequence,last_written_at,coordinator_epoch,open_since_offset,transactional_id,idle_ms,evidence,problem');

CREATE TABLE IF NOT EXISTS coverage (
  snapshot_id STRING NOT NULL COMMENT 'Id of the snapshot (UUIDv7). Its rows count once table snapshots has the id; views show no others.',
  cluster STRING NOT NULL COMMENT 'Name of the cluster in the configuration.',
  cluster_id STRING COMMENT 'Kafka\'s own id of the cluster; null if no broker named it.',
  captured_at TIMESTAMP NOT NULL COMMENT 'When the run began to look at the cluster.',
  api STRING NOT NULL COMMENT 'Kafka\'s name of the API.',
  api_version INT COMMENT 'Highest version that was sent; null if no request was.',
  broker_id INT COMMENT 'Broker that was asked; null for a bootstrap server whose id is not known, or if no broker was asked.',
  expected BIGINT NOT NULL COMMENT 'Items (brokers, topics, partitions, groups, as the API has them) that were asked about.',
  answered BIGINT NOT NULL COMMENT 'Items that came back with a value.',
  failed BIGINT NOT NULL COMMENT 'Items that came back with an error, or not at all.',
  visibility STRING COMMENT 'For APIs that list: complete (the permission to see everything is proven), filtered (permissions are missing, so the list may be short) or unknown; null for other APIs.',
  requests BIGINT NOT NULL COMMENT 'Requests sent, retries included.',
  bytes BIGINT NOT NULL COMMENT 'Bytes received.',
  elapsed_ms BIGINT NOT NULL COMMENT 'Milliseconds from the first request to the last answer.',
  throttle_ms BIGINT NOT NULL COMMENT 'Milliseconds for which the broker throttled us.',
  not_collected_because STRING COMMENT 'Why the API gave nothing although nothing failed: UNSUPPORTED_VERSION (the brokers do not offer it), SECURITY_DISABLED (no authorizer), DELEGATION_TOKEN_AUTH_DISABLED (tokens are switched off), DELEGATION_TOKEN_REQUEST_NOT_ALLOWED (PLAINTEXT, TLS without a certificate, and logins by token see no tokens), SKIPPED (by the setting snapshot.skip_tables) or LEFT_OUT (topics or groups, by settings; see left_out); null if it was asked.',
  skipped_table STRING COMMENT 'Table that has no rows of this snapshot because it is skipped; null for rows about requests.',
  bytes_sent BIGINT COMMENT 'Bytes sent. Null in rows of version 0.1.0.',
  most_in_flight INT COMMENT 'Most requests of a connection that waited for their answers at once when one of this API was sent, itself included; at most kafka.max_in_flight_requests_per_connection. Null in rows of version 0.1.0.',
  left_out BIGINT COMMENT 'Topics (api Metadata) or groups (ListGroups) that the settings snapshot.topics, exclude_topics, groups and exclude_groups left out, in a row of their own; null for other rows.',
  snapshot_date DATE NOT NULL COMMENT 'UTC day of captured_at; the table is partitioned by it.'
)
USING delta
PARTITIONED BY (snapshot_date)
COMMENT 'What was asked and what answered, one row per API, broker and snapshot, and one per API of a skipped table.'
TBLPROPERTIES ('delta.enableDeletionVectors' = 'false', 'delta.checkpointInterval' = '30', 'delta.logRetentionDuration' = 'interval 3 days', 'delta.deletedFileRetentionDuration' = 'interval 3 days', 'delta.dataSkippingStatsColumns' = 'snapshot_id,cluster,cluster_id,captured_at,api,api_version,broker_id,expected,answered,failed,visibility,requests,bytes,elapsed_ms,throttle_ms,not_collected_because,skipped_table,bytes_sent,most_in_flight,left_out');

CREATE TABLE IF NOT EXISTS collection_failures (
  snapshot_id STRING NOT NULL COMMENT 'Id of the snapshot (UUIDv7). Its rows count once table snapshots has the id; views show no others.',
  cluster STRING NOT NULL COMMENT 'Name of the cluster in the configuration.',
  cluster_id STRING COMMENT 'Kafka\'s own id of the cluster; null if no broker named it.',
  captured_at TIMESTAMP NOT NULL COMMENT 'When the run began to look at the cluster.',
  api STRING NOT NULL COMMENT 'Kafka\'s name of the API.',
  broker_id INT COMMENT 'Broker that was asked, or that the request was about; null if none could be chosen.',
  scope STRING NOT NULL COMMENT 'What the request was about, for people: the first three of the items, and how many more.',
  error_code INT COMMENT 'Kafka\'s number of the error; null if there was no answer.',
  error_name STRING NOT NULL COMMENT 'Kafka\'s name of the error, or ours for a request without an answer.',
  attempts INT NOT NULL COMMENT 'How often it was tried, at most.',
  elapsed_ms BIGINT COMMENT 'Milliseconds until the last of them was given up; null if it was never sent.',
  message STRING COMMENT 'What the broker or the network said; null if nothing.',
  scope_type STRING COMMENT 'cluster, broker, topic, partition, group, member, group_partition (what a group committed for a partition), transaction, config, log_dir or list (a list as a whole). Null in rows of version 0.1.0.',
  topic STRING COMMENT 'Name of the topic; null if the scope has none, or if the items differ.',
  partition INT COMMENT 'Partition number; null likewise.',
  group_id STRING COMMENT 'group.id of the group; null likewise.',
  member_id STRING COMMENT 'Id of the member; null likewise.',
  transactional_id STRING COMMENT 'transactional.id; null likewise.',
  log_dir STRING COMMENT 'Path of the log directory; null likewise.',
  items BIGINT COMMENT 'How many items (partitions, groups, topics) failed so. Null in rows of version 0.1.0.',
  snapshot_date DATE NOT NULL COMMENT 'UTC day of captured_at; the table is partitioned by it.'
)
USING delta
PARTITIONED BY (snapshot_date)
COMMENT 'What could not be collected, one row per API, broker, type of scope, error and snapshot, with the number of items.'
TBLPROPERTIES ('delta.enableDeletionVectors' = 'false', 'delta.checkpointInterval' = '30', 'delta.logRetentionDuration' = 'interval 3 days', 'delta.deletedFileRetentionDuration' = 'interval 3 days', 'delta.dataSkippingStatsColumns' = 'snapshot_id,cluster,cluster_id,captured_at,api,broker_id,scope,error_code,error_name,attempts,elapsed_ms,message,scope_type,topic,partition,group_id,member_id,transactional_id,log_dir,items');

CREATE TABLE IF NOT EXISTS snapshots (
  snapshot_id STRING NOT NULL COMMENT 'Id of the snapshot (UUIDv7). Its rows count once table snapshots has the id; views show no others.',
  cluster STRING NOT NULL COMMENT 'Name of the cluster in the configuration.',
  cluster_id STRING COMMENT 'Kafka\'s own id of the cluster; null if no broker named it.',
  captured_at TIMESTAMP NOT NULL COMMENT 'When the run began to look at the cluster.',
  slot TIMESTAMP NOT NULL COMMENT 'The scheduler\'s time for the run; published at most once per cluster.',
  started_at TIMESTAMP NOT NULL COMMENT 'When the run began to look at the cluster.',
  finished_at TIMESTAMP NOT NULL COMMENT 'When the last answer was in; what was true, was true between both.',
  status STRING NOT NULL COMMENT 'complete, or partial if anything did not answer; tables that can be skipped (snapshot.skip_tables) do not count.',
  software_version STRING NOT NULL COMMENT 'Version of Kafka Lagoon that wrote the rows.',
  kafka_version_range STRING COMMENT 'Kafka release whose APIs the brokers list, or a range such as 2.8 to 3.9; between 2.4 and 3.0 if a broker\'s list is a mix that no release has; null if not known.',
  brokers INT NOT NULL COMMENT 'Rows in table brokers.',
  topics INT NOT NULL COMMENT 'Rows in table topics.',
  partitions INT NOT NULL COMMENT 'Rows in table partitions.',
  groups INT NOT NULL COMMENT 'Rows in table consumer_groups.',
  failures INT NOT NULL COMMENT 'Rows in table collection_failures.',
  requests BIGINT NOT NULL COMMENT 'Requests sent, retries included.',
  bytes_in BIGINT NOT NULL COMMENT 'Bytes received.',
  bytes_out BIGINT NOT NULL COMMENT 'Bytes sent.',
  throttle_ms BIGINT NOT NULL COMMENT 'Milliseconds for which brokers throttled us, summed over brokers.',
  completeness DOUBLE COMMENT 'Answered items by expected items, from 0 to 1; null if nothing was expected.',
  tables ARRAY<STRUCT<table_name: STRING COMMENT 'Name of the table.', outcome: STRING COMMENT 'complete; partial (some of what it is made of did not answer); failed (nothing did); skipped (by the setting snapshot.skip_tables); not_offered (by the brokers, or they are set up without).', row_count: BIGINT COMMENT 'Rows of the table in this snapshot.', stored_in: STRING COMMENT 'snapshot_id under which the rows are stored: this snapshot\'s own, or, of a table that is written when it changes, that of an earlier one of the same UTC day whose rows are the same.', digest: STRING COMMENT 'Digest of the rows; null for a table that every snapshot writes, or that is not complete.'>> COMMENT 'The tables that the cluster was asked for, and where their rows are; view table_states has one row each. Null in rows of version 0.1.0.',
  snapshot_date DATE NOT NULL COMMENT 'UTC day of captured_at; the table is partitioned by it.'
)
USING delta
PARTITIONED BY (snapshot_date)
COMMENT 'Published snapshots, one row each, written last: rows of other tables without one here do not count.'
TBLPROPERTIES ('delta.enableDeletionVectors' = 'false', 'delta.checkpointInterval' = '30', 'delta.logRetentionDuration' = 'interval 3 days', 'delta.deletedFileRetentionDuration' = 'interval 3 days', 'delta.dataSkippingStatsColumns' = 'snapshot_id,cluster,cluster_id,captured_at,slot,started_at,finished_at,status,software_version,kafka_version_range,brokers,topics,partitions,groups,failures,requests,bytes_in,bytes_out,throttle_ms');

CREATE TABLE IF NOT EXISTS records (
  cluster STRING COMMENT 'Name of the cluster in the configuration; null if archived by a version that did not store it.',
  cluster_id STRING NOT NULL COMMENT 'Kafka\'s own id of the cluster.',
  topic STRING NOT NULL COMMENT 'Name of the topic.',
  topic_id STRING COMMENT 'Id of the topic; null if the brokers give none.',
  partition INT NOT NULL COMMENT 'Partition number.',
  offset BIGINT NOT NULL COMMENT 'Offset of the record.',
  timestamp TIMESTAMP COMMENT 'Time of the record; null if it has none, or outside the years 1 to 9999.',
  timestamp_ms BIGINT NOT NULL COMMENT 'Time of the record as stored, in milliseconds since 1970; -1 if it has none.',
  timestamp_type INT NOT NULL COMMENT '0: set by the producer; 1: when the broker appended it; -1: none (message format 0).',
  key BINARY COMMENT 'Key; null and empty are kept apart.',
  value BINARY COMMENT 'Value; null (a tombstone in compacted topics) and empty are kept apart.',
  headers ARRAY<STRUCT<key: STRING COMMENT 'Key of the header; in a record with undecodable keys, bytes are spelled out, as in \\xff.', value: BINARY COMMENT 'Value of the header; null and empty are kept apart.'>> NOT NULL COMMENT 'Headers in order, duplicates kept; empty if there are none.',
  leader_epoch INT COMMENT 'Epoch of the leader that appended it; null if the batch has none.',
  producer_id BIGINT COMMENT 'Id of the idempotent producer; null if it was none.',
  producer_epoch INT COMMENT 'Epoch of the idempotent producer; null if it was none.',
  is_transactional BOOLEAN NOT NULL COMMENT 'Whether it was written in a transaction.',
  is_aborted BOOLEAN COMMENT 'Whether its transaction was aborted (kept by read_uncommitted only); null if the transaction was still open.',
  ingest_id STRING NOT NULL COMMENT 'The run that archived it (UUIDv7).',
  ingest_date DATE NOT NULL COMMENT 'UTC day of the run; the table is partitioned by it.'
)
USING delta
PARTITIONED BY (ingest_date)
COMMENT 'Records as they were in Kafka, one row each, exactly once.'
TBLPROPERTIES ('delta.enableDeletionVectors' = 'false', 'delta.feature.domainMetadata' = 'supported', 'delta.checkpointInterval' = '30', 'delta.logRetentionDuration' = 'interval 7 days', 'delta.deletedFileRetentionDuration' = 'interval 7 days', 'delta.dataSkippingStatsColumns' = 'cluster,cluster_id,topic,topic_id,partition,offset,timestamp,timestamp_ms,timestamp_type,leader_epoch,producer_id,producer_epoch,ingest_id');

CREATE TABLE IF NOT EXISTS record_ranges (
  ingest_id STRING NOT NULL COMMENT 'The run (UUIDv7); column sequence orders runs.',
  cluster STRING COMMENT 'Name of the cluster in the configuration; null if archived by a version that did not store it, or if problem is COUNTS_LOST.',
  cluster_id STRING NOT NULL COMMENT 'Kafka\'s own id of the cluster.',
  topic STRING NOT NULL COMMENT 'Name of the topic.',
  topic_id STRING COMMENT 'Id of the topic; null if the brokers give none.',
  partition INT NOT NULL COMMENT 'Partition number.',
  from_offset BIGINT NOT NULL COMMENT 'First offset of the range.',
  to_offset BIGINT NOT NULL COMMENT 'First offset after the range; below from_offset if the log was truncated and continued there.',
  records BIGINT NOT NULL COMMENT 'Offsets whose records are in table records.',
  control BIGINT NOT NULL COMMENT 'Offsets of control batches, such as transaction markers.',
  aborted BIGINT NOT NULL COMMENT 'Offsets of aborted transactions, left out by read_committed.',
  compacted BIGINT NOT NULL COMMENT 'Offsets without a record: removed by compaction.',
  lost BIGINT NOT NULL COMMENT 'Offsets that retention or DeleteRecords removed before they were read.',
  corrupt BIGINT NOT NULL COMMENT 'Offsets that could not be decoded: see table record_problems.',
  bytes_fetched BIGINT NOT NULL COMMENT 'Bytes of record batches received, before decompression.',
  bytes_decoded BIGINT NOT NULL COMMENT 'Bytes of records after decompression.',
  codec STRING COMMENT 'Codecs of the batches, sorted and comma-separated; null if there were none.',
  files INT NOT NULL COMMENT 'Data files that hold the records.',
  leader_epoch INT COMMENT 'Leader epoch in which the last offset of the range was written; null if no batch has one.',
  problem STRING COMMENT 'LOST, LOG_TRUNCATED, TOPIC_RECREATED, TOPIC_DELETED, NOT_CONFIRMED (brokers disagree), or why the range ended early; null if nothing is wrong.',
  planned_at TIMESTAMP NOT NULL COMMENT 'When the run asked where the logs end.',
  sequence BIGINT COMMENT 'Number of the run in its cluster\'s archive: it orders runs, whatever their clocks said; null if archived by a version that did not store it.',
  ingest_date DATE NOT NULL COMMENT 'UTC day of the run; the table is partitioned by it.'
)
USING delta
PARTITIONED BY (ingest_date)
COMMENT 'How the offsets were counted, one row per run and partition; the ranges of a partition have no gaps and no overlaps.'
TBLPROPERTIES ('delta.enableDeletionVectors' = 'false', 'delta.checkpointInterval' = '30', 'delta.logRetentionDuration' = 'interval 7 days', 'delta.deletedFileRetentionDuration' = 'interval 7 days', 'delta.dataSkippingStatsColumns' = 'ingest_id,cluster,cluster_id,topic,topic_id,partition,from_offset,to_offset,records,control,aborted,compacted,lost,corrupt,bytes_fetched,bytes_decoded,codec,files,leader_epoch,problem,planned_at,sequence');

CREATE TABLE IF NOT EXISTS record_problems (
  ingest_id STRING NOT NULL COMMENT 'The run (UUIDv7).',
  cluster STRING COMMENT 'Name of the cluster in the configuration; null if archived by a version that did not store it.',
  cluster_id STRING NOT NULL COMMENT 'Kafka\'s own id of the cluster.',
  topic STRING NOT NULL COMMENT 'Name of the topic.',
  topic_id STRING COMMENT 'Id of the topic; null if the brokers give none.',
  partition INT NOT NULL COMMENT 'Partition number.',
  base_offset BIGINT NOT NULL COMMENT 'First offset concerned.',
  last_offset BIGINT NOT NULL COMMENT 'Last offset concerned.',
  reason STRING NOT NULL COMMENT 'CORRUPT_BATCH, UNSUPPORTED_CODEC, EXPANDED_TOO_LARGE, HEADER_KEY_NOT_UTF8, ...',
  detail STRING COMMENT 'What exactly is wrong; null if the reason says it all.',
  raw BINARY COMMENT 'The batch as it was received, up to a limit; null where the record itself is archived.',
  ingest_date DATE NOT NULL COMMENT 'UTC day of the run; the table is partitioned by it.'
)
USING delta
PARTITIONED BY (ingest_date)
COMMENT 'Batches that could not be decoded, and records whose header keys are not UTF-8.'
TBLPROPERTIES ('delta.enableDeletionVectors' = 'false', 'delta.checkpointInterval' = '30', 'delta.logRetentionDuration' = 'interval 7 days', 'delta.deletedFileRetentionDuration' = 'interval 7 days', 'delta.dataSkippingStatsColumns' = 'ingest_id,cluster,cluster_id,topic,topic_id,partition,base_offset,last_offset,reason,detail');

CREATE TABLE IF NOT EXISTS admin_actions (
  action_id STRING NOT NULL COMMENT 'The action (UUIDv7); its two rows have the same.',
  run_id STRING NOT NULL COMMENT 'The run that it belongs to (UUIDv7); ids sort by time.',
  job STRING NOT NULL COMMENT 'apply, admin or restore.',
  plan_id STRING NOT NULL COMMENT 'The plan that it belongs to, as `lagoon plan` prints it.',
  cluster STRING NOT NULL COMMENT 'Name of the cluster in the configuration.',
  cluster_id STRING NOT NULL COMMENT 'Kafka\'s own id of the cluster.',
  event STRING NOT NULL COMMENT 'started: about to be sent; finished: its outcome is known.',
  at TIMESTAMP NOT NULL COMMENT 'When this row was written.',
  kind STRING NOT NULL COMMENT 'What it does: create_topic, alter_configs, ...',
  resource_type STRING NOT NULL COMMENT 'Type of the resource: topic, partition, group, acl, ...',
  resource_name STRING NOT NULL COMMENT 'Name of the resource within its type.',
  before STRING COMMENT 'What the cluster had, as JSON; null if the resource did not exist.',
  after STRING COMMENT 'What was asked for, as JSON; null if it is removed. Secrets are left out.',
  guards ARRAY<STRING> NOT NULL COMMENT 'Options without which it is refused.',
  outcome STRING COMMENT 'done; failed: refused, or nothing changed; unknown: sent, and neither an answer nor the live state tells.',
  error_code INT COMMENT 'Kafka\'s error code; null if no broker gave one.',
  error_name STRING COMMENT 'Name of the error; null if there is none. An action without an answer may be done, as the live state shows.',
  message STRING COMMENT 'What the broker said, or we; null if there is nothing to say.',
  source STRING COMMENT 'File and line that asked for it; null if a command line did.',
  user STRING NOT NULL COMMENT 'Who ran it: the name that the operating system gives.',
  host STRING NOT NULL COMMENT 'Where it ran.',
  principal STRING COMMENT 'The user of SASL; null if a certificate, a token or nothing tells it.',
  software_version STRING NOT NULL COMMENT 'Version of this package.',
  write_date DATE NOT NULL COMMENT 'UTC day of the row; the table is partitioned by it.'
)
USING delta
PARTITIONED BY (write_date)
COMMENT 'Alterations of clusters: one row before an action is sent, and one with its outcome.'
TBLPROPERTIES ('delta.enableDeletionVectors' = 'false', 'delta.checkpointInterval' = '30', 'delta.logRetentionDuration' = 'interval 3 days', 'delta.deletedFileRetentionDuration' = 'interval 3 days', 'delta.dataSkippingStatsColumns' = 'action_id,run_id,job,plan_id,cluster,cluster_id,event,at,kind,resource_type,resource_name,before,after,outcome,error_code,error_name,message,source,user,host,principal,software_version');

CREATE TABLE IF NOT EXISTS restore_map (
  restore_id STRING NOT NULL COMMENT 'The restore (UUIDv7 of its first run).',
  source_cluster STRING NOT NULL COMMENT 'Name of the cluster that the records came from.',
  source_cluster_id STRING NOT NULL COMMENT 'Kafka\'s own id of that cluster.',
  source_topic STRING NOT NULL COMMENT 'Name of the topic there.',
  source_topic_id STRING COMMENT 'Id of the topic there; null if the brokers gave none.',
  source_partition INT NOT NULL COMMENT 'Partition there.',
  source_offset BIGINT NOT NULL COMMENT 'First offset of the range there.',
  target_cluster STRING NOT NULL COMMENT 'Name of the cluster that they were written to.',
  target_cluster_id STRING NOT NULL COMMENT 'Kafka\'s own id of that cluster.',
  target_topic STRING NOT NULL COMMENT 'Name of the topic there.',
  target_topic_id STRING COMMENT 'Id of the topic there; null if the brokers give none.',
  target_partition INT NOT NULL COMMENT 'Partition there.',
  target_offset BIGINT NOT NULL COMMENT 'First offset of the range there.',
  records BIGINT NOT NULL COMMENT 'Records of the range: both sides count on from their first offset.',
  written_at TIMESTAMP NOT NULL COMMENT 'When the row was written.',
  write_date DATE NOT NULL COMMENT 'UTC day of the row; the table is partitioned by it.'
)
USING delta
PARTITIONED BY (write_date)
COMMENT 'Which offset each restored record has in the target, as ranges over which both offsets increase together.'
TBLPROPERTIES ('delta.enableDeletionVectors' = 'false', 'delta.feature.domainMetadata' = 'supported', 'delta.checkpointInterval' = '30', 'delta.logRetentionDuration' = 'interval 3 days', 'delta.deletedFileRetentionDuration' = 'interval 3 days', 'delta.dataSkippingStatsColumns' = 'restore_id,source_cluster,source_cluster_id,source_topic,source_topic_id,source_partition,source_offset,target_cluster,target_cluster_id,target_topic,target_topic_id,target_partition,target_offset,records,written_at');

CREATE TABLE IF NOT EXISTS restore_receipts (
  restore_id STRING NOT NULL COMMENT 'The restore (UUIDv7 of its first run).',
  source_cluster_id STRING NOT NULL COMMENT 'Kafka\'s own id of the cluster that the records came from.',
  source_topic STRING NOT NULL COMMENT 'Name of the topic there.',
  source_topic_id STRING COMMENT 'Id of the topic there; null if the brokers gave none.',
  source_partition INT NOT NULL COMMENT 'Partition there.',
  target_cluster_id STRING NOT NULL COMMENT 'Kafka\'s own id of the cluster that they were written to.',
  target_topic STRING NOT NULL COMMENT 'Name of the topic there.',
  target_partition INT NOT NULL COMMENT 'Partition there.',
  target_from_offset BIGINT NOT NULL COMMENT 'First offset that the restore wrote there.',
  target_to_offset BIGINT NOT NULL COMMENT 'First offset after them.',
  records BIGINT NOT NULL COMMENT 'Records that were to be written.',
  records_read_back BIGINT COMMENT 'Records that were read back; null if they could not be read.',
  digest STRING NOT NULL COMMENT 'Hash of their keys, values, headers, times and order.',
  digest_read_back STRING COMMENT 'The same hash of what was read back; null if it could not be read.',
  problem STRING COMMENT 'Why the target is not known to be equal; null if it is.',
  checked_at TIMESTAMP NOT NULL COMMENT 'When the target was read back.',
  other_records BIGINT COMMENT 'Records that somebody else wrote while the restore did, before its last record; null if they could not be counted.',
  other_offsets STRING COMMENT 'Their offsets as ranges, at most twenty; null if there are none.',
  write_date DATE NOT NULL COMMENT 'UTC day of the row; the table is partitioned by it.'
)
USING delta
PARTITIONED BY (write_date)
COMMENT 'What a finished restore wrote to each partition, and what was read back from it.'
TBLPROPERTIES ('delta.enableDeletionVectors' = 'false', 'delta.checkpointInterval' = '30', 'delta.logRetentionDuration' = 'interval 3 days', 'delta.deletedFileRetentionDuration' = 'interval 3 days', 'delta.dataSkippingStatsColumns' = 'restore_id,source_cluster_id,source_topic,source_topic_id,source_partition,target_cluster_id,target_topic,target_partition,target_from_offset,target_to_offset,records,records_read_back,digest,digest_read_back,problem,checked_at,other_records,other_offsets');
