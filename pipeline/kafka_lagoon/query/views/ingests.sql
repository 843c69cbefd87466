CREATE OR REPLACE VIEW ingests (
  ingest_id COMMENT 'The run (UUIDv7); ids sort by time.',
  cluster COMMENT 'Name of the cluster in the configuration; null if archived by a version that did not store it.',
  cluster_id COMMENT 'Id of the cluster in Kafka.',
  planned_at COMMENT 'When the run read the end offsets.',
  topics COMMENT 'Topics with a range.',
  partitions COMMENT 'Partitions with a range.',
  records COMMENT 'Records archived.',
  control COMMENT 'Offsets of control batches.',
  aborted COMMENT 'Offsets of aborted transactions.',
  compacted COMMENT 'Offsets without a record.',
  lost COMMENT 'Offsets that were deleted before they were read, or that the log of a topic without compaction lacks.',
  corrupt COMMENT 'Offsets that could not be decoded.',
  bytes_fetched COMMENT 'Bytes of record batches received.',
  problems COMMENT 'Ranges with a problem.'
)
COMMENT 'The result of each ingest, one row per run.'
AS
SELECT
  ingest_id,
  max(cluster) AS cluster,
  cluster_id,
  min(planned_at) AS planned_at,
  count(DISTINCT topic) AS topics,
  count(DISTINCT (topic, partition)) AS partitions,
  CAST(sum(records) AS BIGINT) AS records,
  CAST(sum(control) AS BIGINT) AS control,
  CAST(sum(aborted) AS BIGINT) AS aborted,
  CAST(sum(compacted) AS BIGINT) AS compacted,
  CAST(sum(lost) AS BIGINT) AS lost,
  CAST(sum(corrupt) AS BIGINT) AS corrupt,
  CAST(sum(bytes_fetched) AS BIGINT) AS bytes_fetched,
  count(problem) AS problems
FROM record_ranges
GROUP BY ingest_id, cluster_id
