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
COMMENT 'Topics and groups that were added or removed while snapshots saw more or less of the list: a list is compared with the latest one of the same visibility, where the snapshot between them has another visibility. Changes that neighbouring snapshots, or another such comparison, show between the two are left out. topology_changes has these rows, too.'
AS
WITH lists AS (
  SELECT
    table_coverage.*,
    lag(place) OVER alike AS alike_place,
    lag(snapshot_id) OVER alike AS alike_id,
    lag(snapshot_date) OVER alike AS alike_date,
    lag(captured_at) OVER alike AS alike_captured_at
  FROM table_coverage
  WHERE problem IS NULL AND table_name IN ('topics', 'consumer_groups')
  WINDOW alike AS (PARTITION BY cluster, cluster_id, table_name, visibility ORDER BY place)
),
-- The first list of each visibility, and the last one before the visibility changes again. Few: it changes with permissions and
-- settings.
firsts AS (
  SELECT
    lists.*,
    lead(previous_snapshot_id) OVER in_order AS last_alike_id,
    lead(previous_snapshot_date) OVER in_order AS last_alike_date
  FROM lists
  WHERE previous_snapshot_id IS NOT NULL AND visibility IS DISTINCT FROM previous_visibility
  WINDOW in_order AS (PARTITION BY cluster, cluster_id, table_name ORDER BY place)
),
sides AS (
  SELECT
    firsts.*,
    side,
    CASE side
      WHEN 'now' THEN snapshot_id
      WHEN 'alike' THEN alike_id
      WHEN 'last_alike' THEN last_alike_id
      ELSE previous_snapshot_id
    END AS seen_id,
    CASE side
      WHEN 'now' THEN snapshot_date
      WHEN 'alike' THEN alike_date
      WHEN 'last_alike' THEN last_alike_date
      ELSE previous_snapshot_date
    END AS seen_date
  FROM firsts
  CROSS JOIN (VALUES ('now'), ('alike'), ('last_alike'), ('previous')) AS each_side (side)
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
    place,
    alike_id,
    alike_place,
    alike_captured_at,
    visibility,
    previous_visibility,
    table_name,
    name,
    bool_or(side = 'alike') AS was_there,
    bool_or(side = 'now') AS is_there,
    bool_or(side = 'previous') AS was_before,
    bool_or(side = 'last_alike') AS is_there_later,
    max(CASE WHEN side = 'alike' THEN id END) AS old_id,
    max(CASE WHEN side = 'now' THEN id END) AS new_id,
    max(CASE WHEN side = 'previous' THEN id END) AS previous_id,
    max(CASE WHEN side = 'last_alike' THEN id END) AS later_id
  FROM names
  GROUP BY
    cluster,
    cluster_id,
    snapshot_id,
    snapshot_date,
    captured_at,
    place,
    alike_id,
    alike_place,
    alike_captured_at,
    visibility,
    previous_visibility,
    table_name,
    name
),
-- What neighbouring lists show: the first list and the one before it, and those from it to the last one of its visibility.
shown AS (
  SELECT
    compared.*,
    is_there AND NOT was_before AND previous_visibility IS NOT DISTINCT FROM 'complete' AS is_added,
    was_before AND NOT is_there AND visibility IS NOT DISTINCT FROM 'complete' AS is_removed,
    is_there AND was_before AND coalesce(previous_id <> new_id, FALSE) AS is_recreated,
    is_there_later AND NOT is_there AS is_added_later,
    is_there AND NOT is_there_later AS is_removed_later,
    is_there AND is_there_later AND coalesce(new_id <> later_id, FALSE) AS is_recreated_later
  FROM compared
),
shown_before AS (
  SELECT
    shown.*,
    max(CASE WHEN is_added OR is_added_later THEN place END) OVER earlier AS added_before,
    max(CASE WHEN is_removed OR is_removed_later THEN place END) OVER earlier AS removed_before,
    max(CASE WHEN is_recreated OR is_recreated_later THEN place END) OVER earlier AS recreated_before
  FROM shown
  WINDOW earlier AS (
    PARTITION BY cluster, cluster_id, table_name, name ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
  )
),
-- What neighbours do not show between the two lists that are compared.
unseen AS (
  SELECT
    shown_before.*,
    CASE
      WHEN is_there AND was_there THEN
        old_id <> new_id
        AND NOT is_added
        AND NOT is_recreated
        AND coalesce(greatest(added_before, recreated_before) <= alike_place, TRUE)
      WHEN is_there THEN alike_place IS NOT NULL AND NOT is_added AND coalesce(added_before <= alike_place, TRUE)
      WHEN was_there THEN NOT is_removed AND coalesce(removed_before <= alike_place, TRUE)
    END AS is_unseen
  FROM shown_before
),
-- Two such comparisons may overlap, and the first of them shows the change; in the second step only those that show count.
unseen_before AS (
  SELECT unseen.*, max(CASE WHEN is_unseen THEN place END) OVER earlier AS unseen_before
  FROM unseen
  WINDOW earlier AS (
    PARTITION BY cluster, cluster_id, table_name, name, is_there
    ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
  )
),
listed_before AS (
  SELECT
    unseen_before.*,
    max(CASE WHEN is_unseen AND coalesce(unseen_before <= alike_place, TRUE) THEN place END) OVER earlier AS listed_before
  FROM unseen_before
  WINDOW earlier AS (
    PARTITION BY cluster, cluster_id, table_name, name, is_there
    ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
  )
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
FROM listed_before
WHERE is_unseen AND coalesce(listed_before <= alike_place, TRUE)
