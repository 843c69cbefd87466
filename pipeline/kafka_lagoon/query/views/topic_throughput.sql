CREATE OR REPLACE VIEW topic_throughput (
  cluster COMMENT 'Name of the cluster in the configuration.',
  cluster_id COMMENT 'Id of the cluster in Kafka; null if no broker returned it.',
  snapshot_id COMMENT 'The snapshot that the row is about.',
  snapshot_date COMMENT 'UTC day of captured_at.',
  captured_at COMMENT 'When the snapshot began to read the cluster.',
  topic COMMENT 'Name of the topic.',
  topic_id COMMENT 'Id of the topic; null if the brokers return none.',
  partitions COMMENT 'Partitions of the topic.',
  records COMMENT 'Offsets in the logs of the partitions whose end offsets are known; null if none is known.',
  size_bytes COMMENT 'Bytes of the leader replicas whose size is known; null if no size is known.',
  seconds COMMENT 'Mean seconds since the previous snapshot; null if no partition has a rate.',
  rate_partitions COMMENT 'Partitions with a rate of records: the rates are about these partitions only.',
  produced COMMENT 'Offsets that were added to these partitions since then; null if there are none.',
  records_per_second COMMENT 'Sum of the rates of these partitions; null if there are none.',
  bytes_partitions COMMENT 'Partitions with a rate of bytes.',
  estimated_partitions COMMENT 'Partitions among these whose bytes are computed from the mean size of a record, see bytes_method of partition_throughput.',
  bytes_per_second COMMENT 'Sum of the rates of bytes, before replication; null if there is none.'
)
COMMENT 'Records and bytes per second that are produced to each topic, between two published snapshots: one row per topic and snapshot. Rows of UTC days that are over come from table stored_throughput, if it has them for the snapshots that are published now.'
AS
SELECT
  cluster,
  cluster_id,
  snapshot_id,
  snapshot_date,
  captured_at,
  topic,
  topic_id,
  count(*) AS partitions,
  CAST(sum(records) AS BIGINT) AS records,
  CAST(sum(size_bytes) AS BIGINT) AS size_bytes,
  avg(CASE WHEN no_rate_because IS NULL THEN seconds END) AS seconds,
  count(records_per_second) AS rate_partitions,
  CAST(sum(CASE WHEN no_rate_because IS NULL THEN produced END) AS BIGINT) AS produced,
  sum(records_per_second) AS records_per_second,
  count(bytes_per_second) AS bytes_partitions,
  count(CASE WHEN bytes_method = 'mean_record' THEN bytes_per_second END) AS estimated_partitions,
  sum(bytes_per_second) AS bytes_per_second
FROM unstored_throughput
GROUP BY cluster, cluster_id, snapshot_id, snapshot_date, captured_at, topic, topic_id
UNION ALL
SELECT
  stored.cluster,
  stored.cluster_id,
  stored.snapshot_id,
  stored.snapshot_date,
  stored.captured_at,
  stored.topic,
  stored.topic_id,
  stored.partitions,
  stored.records,
  stored.size_bytes,
  stored.seconds,
  stored.rate_partitions,
  stored.produced,
  stored.records_per_second,
  stored.bytes_partitions,
  stored.estimated_partitions,
  stored.bytes_per_second
FROM stored_throughput AS stored
JOIN throughput_days AS days
  ON stored.cluster = days.cluster
  AND stored.cluster_id IS NOT DISTINCT FROM days.cluster_id
  AND stored.snapshot_date = days.snapshot_date
  AND stored.state = days.state
WHERE stored.topic IS NOT NULL
