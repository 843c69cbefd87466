CREATE OR REPLACE VIEW records_now
COMMENT 'Table records without records that a truncation of the log removed, and without copies.'
AS
SELECT records.*
FROM records
ANTI JOIN superseded_ranges
  ON records.cluster_id = superseded_ranges.cluster_id
  AND records.topic = superseded_ranges.topic
  AND records.topic_id IS NOT DISTINCT FROM superseded_ranges.topic_id
  AND records.partition = superseded_ranges.partition
  AND records.ingest_id = superseded_ranges.ingest_id
  AND records.offset >= superseded_ranges.from_offset
  AND records.offset < superseded_ranges.to_offset
