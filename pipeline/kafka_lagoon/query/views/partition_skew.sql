CREATE OR REPLACE VIEW partition_skew (
  cluster COMMENT 'Name of the cluster in the configuration.',
  cluster_id COMMENT 'Id of the cluster in Kafka; null if no broker returned it.',
  snapshot_id COMMENT 'The snapshot that the row is about.',
  snapshot_date COMMENT 'UTC day of captured_at.',
  captured_at COMMENT 'When the snapshot began to read the cluster.',
  topic COMMENT 'Name of the topic.',
  topic_id COMMENT 'Id of the topic; null if the brokers return none.',
  partitions COMMENT 'Partitions of the topic.',
  known_partitions COMMENT 'Partitions whose number of offsets in the log is known: largest, mean and skew are about these partitions only.',
  largest_records COMMENT 'Largest number of offsets in the log of a partition; null if none is known.',
  largest_records_partition COMMENT 'The partition with this value, the first if there are several; null if no value is known.',
  mean_records COMMENT 'Mean over the partitions; null if no value is known.',
  records_skew COMMENT 'Largest divided by mean: 1 if all are equal, the number of partitions if a single partition has everything. Null if the mean is 0 or unknown.',
  sized_partitions COMMENT 'Partitions whose size is known: largest, mean and skew are about these partitions only.',
  largest_size_bytes COMMENT 'Largest size of a partition on the disk of its leader; null if none is known.',
  largest_size_bytes_partition COMMENT 'The partition with this value, the first if there are several; null if no value is known.',
  mean_size_bytes COMMENT 'Mean over the partitions; null if no value is known.',
  size_bytes_skew COMMENT 'Largest divided by mean: 1 if all are equal, the number of partitions if a single partition has everything. Null if the mean is 0 or unknown.',
  rate_partitions COMMENT 'Partitions whose rate of records is known: largest, mean and skew are about these partitions only.',
  largest_records_per_second COMMENT 'Largest rate of records of a partition; null if none is known.',
  largest_records_per_second_partition COMMENT 'The partition with this value, the first if there are several; null if no value is known.',
  mean_records_per_second COMMENT 'Mean over the partitions; null if no value is known.',
  records_per_second_skew COMMENT 'Largest divided by mean: 1 if all are equal, the number of partitions if a single partition has everything. Null if the mean is 0 or unknown.',
  bytes_partitions COMMENT 'Partitions whose rate of bytes is known: largest, mean and skew are about these partitions only.',
  largest_bytes_per_second COMMENT 'Largest rate of bytes of a partition; null if none is known.',
  largest_bytes_per_second_partition COMMENT 'The partition with this value, the first if there are several; null if no value is known.',
  mean_bytes_per_second COMMENT 'Mean over the partitions; null if no value is known.',
  bytes_per_second_skew COMMENT 'Largest divided by mean: 1 if all are equal, the number of partitions if a single partition has everything. Null if the mean is 0 or unknown.'
)
COMMENT 'How unevenly each topic is spread over its partitions, in records, bytes and rates: one row per topic and snapshot. The rates are those of view partition_throughput.'
AS
WITH ranked AS (
  SELECT
    partition_throughput.*,
    row_number() OVER (
      PARTITION BY cluster, cluster_id, snapshot_id, snapshot_date, captured_at, topic, topic_id
      ORDER BY records DESC NULLS LAST, partition
    ) AS records_rank,
    row_number() OVER (
      PARTITION BY cluster, cluster_id, snapshot_id, snapshot_date, captured_at, topic, topic_id
      ORDER BY size_bytes DESC NULLS LAST, partition
    ) AS size_bytes_rank,
    row_number() OVER (
      PARTITION BY cluster, cluster_id, snapshot_id, snapshot_date, captured_at, topic, topic_id
      ORDER BY records_per_second DESC NULLS LAST, partition
    ) AS records_per_second_rank,
    row_number() OVER (
      PARTITION BY cluster, cluster_id, snapshot_id, snapshot_date, captured_at, topic, topic_id
      ORDER BY bytes_per_second DESC NULLS LAST, partition
    ) AS bytes_per_second_rank
  FROM partition_throughput
)
SELECT
  cluster,
  cluster_id,
  snapshot_id,
  snapshot_date,
  captured_at,
  topic,
  topic_id,
  count(*) AS partitions,
  count(records) AS known_partitions,
  max(records) AS largest_records,
  max(CASE WHEN records_rank = 1 AND records IS NOT NULL THEN partition END) AS largest_records_partition,
  avg(records) AS mean_records,
  max(records) / nullif(avg(records), 0) AS records_skew,
  count(size_bytes) AS sized_partitions,
  max(size_bytes) AS largest_size_bytes,
  max(CASE WHEN size_bytes_rank = 1 AND size_bytes IS NOT NULL THEN partition END) AS largest_size_bytes_partition,
  avg(size_bytes) AS mean_size_bytes,
  max(size_bytes) / nullif(avg(size_bytes), 0) AS size_bytes_skew,
  count(records_per_second) AS rate_partitions,
  max(records_per_second) AS largest_records_per_second,
  max(CASE WHEN records_per_second_rank = 1 AND records_per_second IS NOT NULL THEN partition END) AS largest_records_per_second_partition,
  avg(records_per_second) AS mean_records_per_second,
  max(records_per_second) / nullif(avg(records_per_second), 0) AS records_per_second_skew,
  count(bytes_per_second) AS bytes_partitions,
  max(bytes_per_second) AS largest_bytes_per_second,
  max(CASE WHEN bytes_per_second_rank = 1 AND bytes_per_second IS NOT NULL THEN partition END) AS largest_bytes_per_second_partition,
  avg(bytes_per_second) AS mean_bytes_per_second,
  max(bytes_per_second) / nullif(avg(bytes_per_second), 0) AS bytes_per_second_skew
FROM ranked
GROUP BY cluster, cluster_id, snapshot_id, snapshot_date, captured_at, topic, topic_id
