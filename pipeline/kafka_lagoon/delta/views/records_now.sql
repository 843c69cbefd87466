CREATE OR REPLACE VIEW records_now
COMMENT 'Table records without those that a truncation of the log took back: what a reader of the topics would have seen last.'
AS
SELECT records.*
FROM records
ANTI JOIN record_ranges
  ON record_ranges.problem = 'LOG_TRUNCATED'
  AND records.cluster_id = record_ranges.cluster_id
  AND records.topic = record_ranges.topic
  AND records.topic_id IS NOT DISTINCT FROM record_ranges.topic_id
  AND records.partition = record_ranges.partition
  AND records.offset >= record_ranges.to_offset
  AND records.offset < record_ranges.from_offset
  AND records.ingest_id < record_ranges.ingest_id
