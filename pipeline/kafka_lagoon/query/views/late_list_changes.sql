CREATE OR REPLACE VIEW late_list_changes (
  cluster COMMENT 'Name of the cluster in the configuration.',
  cluster_id COMMENT 'Id of the cluster in Kafka; null if no broker returned it.',
  snapshot_id COMMENT 'The published snapshot that shows the change.',
  snapshot_date COMMENT 'UTC day of captured_at.',
  captured_at COMMENT 'When the snapshot began to read the cluster.',
  previous_snapshot_id COMMENT 'The latest earlier snapshot whose list has the same visibility.',
  previous_captured_at COMMENT 'When that snapshot began.',
  visibility COMMENT 'Visibility of both lists (table_coverage).',
  table_name COMMENT 'topics or consumer_groups.',
  name COMMENT 'Name of the topic, or group.id.',
  was_there COMMENT 'True if the earlier list has it.',
  is_there COMMENT 'True if the later list has it.',
  old_id COMMENT 'Id of the topic in the earlier list; null of groups, and if there is none.',
  new_id COMMENT 'Id of the topic in the later list; null of groups, and if there is none.'
)
COMMENT 'Topics and groups that were added or removed while snapshots saw more or less of the list: a list is compared with the latest one of the same visibility, where the snapshot between them has another visibility. Changes that show between neighbouring snapshots are left out. topology_changes has these rows, too.'
AS
WITH lists AS (
  SELECT
    table_coverage.*,
    lead(snapshot_id) OVER in_order AS next_id,
    lead(snapshot_date) OVER in_order AS next_date,
    lead(visibility) OVER in_order AS next_visibility
  FROM table_coverage
  WHERE problem IS NULL AND table_name IN ('topics', 'consumer_groups')
  WINDOW in_order AS (PARTITION BY cluster, cluster_id, table_name ORDER BY place)
),
chained AS (
  SELECT
    lists.*,
    lag(snapshot_id) OVER alike AS alike_id,
    lag(snapshot_date) OVER alike AS alike_date,
    lag(captured_at) OVER alike AS alike_captured_at,
    lag(next_id) OVER alike AS after_alike_id,
    lag(next_date) OVER alike AS after_alike_date,
    lag(next_visibility) OVER alike AS after_alike_visibility
  FROM lists
  WINDOW alike AS (PARTITION BY cluster, cluster_id, table_name, visibility ORDER BY place)
),
-- Few: visibility changes with permissions and settings.
returns AS (
  SELECT * FROM chained WHERE alike_id IS NOT NULL AND visibility IS DISTINCT FROM previous_visibility
),
sides AS (
  SELECT
    returns.*,
    side,
    CASE side
      WHEN 'now' THEN snapshot_id
      WHEN 'alike' THEN alike_id
      WHEN 'after_alike' THEN after_alike_id
      ELSE previous_snapshot_id
    END AS seen_id,
    CASE side
      WHEN 'now' THEN snapshot_date
      WHEN 'alike' THEN alike_date
      WHEN 'after_alike' THEN after_alike_date
      ELSE previous_snapshot_date
    END AS seen_date
  FROM returns
  CROSS JOIN (VALUES ('now'), ('alike'), ('after_alike'), ('previous')) AS each_side (side)
),
names AS (
  SELECT sides.*, topics.topic AS name, topics.topic_id AS id
  FROM sides
  JOIN topics
    ON sides.cluster = topics.cluster
    AND sides.seen_id = topics.snapshot_id
    AND sides.seen_date = topics.snapshot_date
  WHERE sides.table_name = 'topics'
  UNION ALL
  SELECT sides.*, groups.group_id, NULL
  FROM sides
  JOIN consumer_groups AS groups
    ON sides.cluster = groups.cluster
    AND sides.seen_id = groups.snapshot_id
    AND sides.seen_date = groups.snapshot_date
  WHERE sides.table_name = 'consumer_groups'
),
compared AS (
  SELECT
    cluster,
    cluster_id,
    snapshot_id,
    snapshot_date,
    captured_at,
    alike_id,
    alike_captured_at,
    visibility,
    previous_visibility,
    after_alike_visibility,
    table_name,
    name,
    bool_or(side = 'alike') AS was_there,
    bool_or(side = 'now') AS is_there,
    bool_or(side = 'after_alike') AS was_after,
    bool_or(side = 'previous') AS was_before,
    max(CASE WHEN side = 'alike' THEN id END) AS old_id,
    max(CASE WHEN side = 'now' THEN id END) AS new_id
  FROM names
  GROUP BY
    cluster,
    cluster_id,
    snapshot_id,
    snapshot_date,
    captured_at,
    alike_id,
    alike_captured_at,
    visibility,
    previous_visibility,
    after_alike_visibility,
    table_name,
    name
)
SELECT
  cluster,
  cluster_id,
  snapshot_id,
  snapshot_date,
  captured_at,
  alike_id AS previous_snapshot_id,
  alike_captured_at AS previous_captured_at,
  visibility,
  table_name,
  name,
  was_there,
  is_there,
  old_id,
  new_id
FROM compared
WHERE
  -- Neighbours show what appears beside a complete list before it, and what disappears beside a complete list after it. Of the rest,
  -- what the list before this one lacks has appeared here, and what the list after the earlier one has had appeared there; what the
  -- list before this one has disappeared here, and what the list after the earlier one lacks had disappeared there.
  CASE
    WHEN is_there AND was_there THEN
      old_id <> new_id AND NOT was_before AND previous_visibility IS DISTINCT FROM 'complete'
    WHEN is_there THEN
      (NOT was_before AND previous_visibility IS DISTINCT FROM 'complete')
      OR (was_after AND visibility IS DISTINCT FROM 'complete')
    WHEN was_there THEN
      (was_before AND visibility IS DISTINCT FROM 'complete')
      OR (NOT was_before AND NOT was_after AND after_alike_visibility IS DISTINCT FROM 'complete')
    ELSE FALSE
  END
