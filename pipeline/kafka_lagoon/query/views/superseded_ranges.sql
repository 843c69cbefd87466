CREATE OR REPLACE VIEW superseded_ranges (
  cluster_id COMMENT 'Id of the cluster in Kafka.',
  topic COMMENT 'Name of the topic.',
  topic_id COMMENT 'Id of the topic; null if the brokers return none.',
  partition COMMENT 'Partition number.',
  ingest_id COMMENT 'The run that archived the superseded records.',
  from_offset COMMENT 'First offset of those records.',
  to_offset COMMENT 'First offset after those records.',
  reason COMMENT 'TRUNCATED: an unclean leader election removed them from the log. COPY: they had been archived before; an old version archived them again after a single broker denied that the topic exists.'
)
COMMENT 'Ranges of archived records that are not part of the history of a log; view records_now leaves them out. Ranges of a run may overlap where a log was truncated more than once.'
AS
WITH affected AS (
  SELECT DISTINCT cluster_id, topic, partition
  FROM record_ranges
  WHERE to_offset < from_offset OR problem IN ('TOPIC_DELETED', 'TOPIC_RECREATED')
),
ordered AS (
  SELECT
    record_ranges.cluster_id,
    record_ranges.topic,
    record_ranges.topic_id,
    record_ranges.partition,
    record_ranges.ingest_id,
    record_ranges.from_offset,
    record_ranges.to_offset,
    CASE WHEN record_ranges.to_offset < record_ranges.from_offset THEN 1 ELSE 0 END AS goes_back,
    CASE
      WHEN record_ranges.topic_id IS NULL AND record_ranges.problem IN ('TOPIC_DELETED', 'TOPIC_RECREATED') THEN 1 ELSE 0
    END AS ends,
    row_number() OVER (
      PARTITION BY record_ranges.cluster_id, record_ranges.topic, record_ranges.partition
      ORDER BY
        coalesce(record_ranges.sequence, -1),
        record_ranges.ingest_id,
        CASE
          WHEN record_ranges.to_offset > record_ranges.from_offset THEN 3
          WHEN record_ranges.to_offset < record_ranges.from_offset THEN 2
          WHEN record_ranges.problem = 'TOPIC_RECREATED' THEN 0
          WHEN record_ranges.problem = 'TOPIC_DELETED' THEN 4
          ELSE 1
        END,
        record_ranges.from_offset
    ) AS place
  FROM record_ranges
  JOIN affected
    ON record_ranges.cluster_id = affected.cluster_id
    AND record_ranges.topic = affected.topic
    AND record_ranges.partition = affected.partition
),
lives AS (
  SELECT
    ordered.*,
    coalesce(sum(ends) OVER before_row, 0) AS ended_before,
    sum(ends) OVER of_partition AS ended,
    max(CASE WHEN topic_id IS NULL THEN place END) OVER of_partition AS last_without_id,
    min(place) OVER (PARTITION BY cluster_id, topic, partition, topic_id) AS first_of_id
  FROM ordered
  WINDOW
    before_row AS (
      PARTITION BY cluster_id, topic, partition ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ),
    of_partition AS (PARTITION BY cluster_id, topic, partition)
),
upgraded AS (
  SELECT cluster_id, topic, partition, topic_id
  FROM lives
  WHERE place = last_without_id + 1 AND first_of_id = place
),
identified AS (
  SELECT
    lives.*,
    coalesce(lives.topic_id, upgraded.topic_id) AS log_id,
    CASE WHEN coalesce(lives.topic_id, upgraded.topic_id) IS NULL THEN lives.ended_before ELSE 0 END AS life
  FROM lives
  LEFT JOIN upgraded
    ON lives.cluster_id = upgraded.cluster_id
    AND lives.topic = upgraded.topic
    AND lives.partition = upgraded.partition
    AND lives.topic_id IS NULL
    AND lives.ended_before = lives.ended
),
parts AS (
  SELECT identified.*, sum(goes_back) OVER up_to_row AS part
  FROM identified
  WINDOW up_to_row AS (
    PARTITION BY cluster_id, topic, partition, log_id, life ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
  )
),
reached AS (
  SELECT parts.*, max(to_offset) OVER before_row AS archived_to
  FROM parts
  WINDOW before_row AS (
    PARTITION BY cluster_id, topic, partition, log_id, life, part
    ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
  )
)
SELECT
  earlier.cluster_id,
  earlier.topic,
  earlier.topic_id,
  earlier.partition,
  earlier.ingest_id,
  greatest(earlier.from_offset, truncation.to_offset) AS from_offset,
  earlier.to_offset,
  'TRUNCATED' AS reason
FROM parts AS truncation
JOIN parts AS earlier
  ON earlier.cluster_id = truncation.cluster_id
  AND earlier.topic = truncation.topic
  AND earlier.log_id IS NOT DISTINCT FROM truncation.log_id
  AND earlier.partition = truncation.partition
  AND earlier.life = truncation.life
  AND earlier.place < truncation.place
  AND earlier.to_offset > greatest(earlier.from_offset, truncation.to_offset)
WHERE truncation.goes_back = 1
UNION ALL
SELECT
  cluster_id,
  topic,
  topic_id,
  partition,
  ingest_id,
  from_offset,
  least(to_offset, archived_to) AS to_offset,
  'COPY' AS reason
FROM reached
WHERE from_offset < to_offset AND from_offset < archived_to
