CREATE OR REPLACE VIEW computed_changes (
{columns_of_changes}
)
COMMENT 'Changes of the UTC days that stored_changes does not have, or not as the published snapshots are now; otherwise as in topology_changes.'
AS
-- Most facts hold in all snapshots of a day. So the snapshots of each fact are listed by day first, and only facts that some of
-- them lack are compared.
WITH facts AS (
  SELECT
    seen.cluster,
    seen.cluster_id,
    seen.day,
    seen.first_place,
    seen.last_place,
    stated.table_name,
    stated.kind,
    stated.entity_type,
    stated.entity,
    stated.attribute,
    stated.value,
    stated.source,
    stated.topic,
    stated.partition,
    stated.group_id,
    stated.broker_id,
    stated.ground,
    array_agg(seen.place) AS places
  FROM topology_facts AS stated
  JOIN day_snapshots AS seen
    ON stated.cluster = seen.cluster
    AND stated.snapshot_id = seen.snapshot_id
    AND stated.snapshot_date = seen.snapshot_date
    AND stated.table_name = seen.table_name
  GROUP BY
    seen.cluster,
    seen.cluster_id,
    seen.day,
    seen.first_place,
    seen.last_place,
    stated.table_name,
    stated.kind,
    stated.entity_type,
    stated.entity,
    stated.attribute,
    stated.value,
    stated.source,
    stated.topic,
    stated.partition,
    stated.group_id,
    stated.broker_id,
    stated.ground
  HAVING count(*) <= seen.last_place - seen.first_place
),
fact_places AS (
  SELECT facts.*, explode(places) AS place FROM facts
),
sides AS (
  -- The snapshots with a fact that the one before them, or the one after them, lacks.
  SELECT fact_places.*, place + sides.number AS pair, sides.number = 0 AS is_new
  FROM fact_places
  CROSS JOIN (VALUES (0), (1)) AS sides (number)
  WHERE
    CASE sides.number
      WHEN 0 THEN place > first_place AND NOT array_contains(places, place - 1)
      ELSE place < last_place AND NOT array_contains(places, place + 1)
    END
),
compared AS (
  SELECT
    cluster,
    cluster_id,
    day,
    pair AS place,
    table_name,
    kind,
    entity_type,
    entity,
    attribute,
    source,
    topic,
    partition,
    group_id,
    broker_id,
    ground,
    bool_or(NOT is_new) AS was_there,
    bool_or(is_new) AS is_there,
    max(CASE WHEN NOT is_new THEN value END) AS old_value,
    max(CASE WHEN is_new THEN value END) AS new_value
  FROM sides
  GROUP BY
    cluster,
    cluster_id,
    day,
    pair,
    table_name,
    kind,
    entity_type,
    entity,
    attribute,
    source,
    topic,
    partition,
    group_id,
    broker_id,
    ground
),
differing AS (
  SELECT *
  FROM compared
  WHERE
    CASE kind
      WHEN 'value' THEN was_there AND is_there AND old_value IS DISTINCT FROM new_value
      WHEN 'held' THEN old_value IS DISTINCT FROM new_value
      ELSE NOT was_there OR NOT is_there OR old_value <> new_value
    END
  UNION ALL
  SELECT
    cluster,
    cluster_id,
    day,
    place,
    table_name,
    kind,
    entity_type,
    concat_ws(' ', group_id, concat(topic, '-', partition)),
    attribute,
    NULL,
    topic,
    partition,
    group_id,
    NULL,
    ground,
    was_there,
    is_there,
    old_value,
    new_value
  FROM partition_differences
),
-- A group that was answered has rows of all its commits, also of those that could not be read.
unknown_commits AS (
  SELECT DISTINCT cluster, snapshot_id, snapshot_date, group_id
  FROM collection_failures
  WHERE api = 'OffsetFetch' AND scope_type IS DISTINCT FROM 'group_partition'
),
topics_of_days AS (
  SELECT seen.cluster, seen.cluster_id, seen.day, seen.table_name, topics.topic, topics.topic_id, array_agg(seen.place) AS places
  FROM topics
  JOIN day_snapshots AS seen
    ON topics.cluster = seen.cluster
    AND topics.snapshot_id = seen.snapshot_id
    AND topics.snapshot_date = seen.snapshot_date
    AND seen.table_name IN ('topics', 'reassignments', 'configs', 'consumer_groups', 'committed_offsets')
  -- In a snapshot in which a topic was created again, its parts are those of either topic.
  WHERE topics.problem IS DISTINCT FROM 'TOPIC_RECREATED_DURING_SNAPSHOT'
  GROUP BY seen.cluster, seen.cluster_id, seen.day, seen.table_name, topics.topic, topics.topic_id
),
groups_of_days AS (
  SELECT seen.cluster, seen.cluster_id, seen.day, seen.table_name, groups.group_id, array_agg(seen.place) AS places,
    array_agg(seen.place) FILTER (WHERE unknown_commits.snapshot_id IS NULL) AS read_places
  FROM consumer_groups AS groups
  JOIN day_snapshots AS seen
    ON groups.cluster = seen.cluster
    AND groups.snapshot_id = seen.snapshot_id
    AND groups.snapshot_date = seen.snapshot_date
    AND seen.table_name IN ('consumer_groups', 'committed_offsets')
  LEFT JOIN unknown_commits
    ON seen.table_name = 'committed_offsets'
    AND groups.cluster = unknown_commits.cluster
    AND groups.snapshot_id = unknown_commits.snapshot_id
    AND groups.snapshot_date = unknown_commits.snapshot_date
    AND groups.group_id = coalesce(unknown_commits.group_id, groups.group_id)
  -- A group was described if a member's protocol cannot be decoded, and commits are read without the description. Those of a
  -- group that was deleted meanwhile are its parts.
  WHERE
    groups.problem IS NULL
    OR groups.problem = 'MEMBER_PROTOCOL_UNREADABLE'
    OR seen.table_name = 'committed_offsets' AND groups.problem <> 'GROUP_ID_NOT_FOUND'
  GROUP BY seen.cluster, seen.cluster_id, seen.day, seen.table_name, groups.group_id
),
grounds_of_days AS (
  SELECT seen.cluster, seen.cluster_id, seen.day, seen.table_name, described.ground, array_agg(seen.place) AS places
  FROM described_entities AS described
  JOIN day_snapshots AS seen
    ON described.cluster = seen.cluster
    AND described.snapshot_id = seen.snapshot_id
    AND described.snapshot_date = seen.snapshot_date
    AND described.table_name = seen.table_name
  GROUP BY seen.cluster, seen.cluster_id, seen.day, seen.table_name, described.ground
)
SELECT
  changes.cluster,
  steps.cluster_id,
  steps.snapshot_id,
  changes.day AS snapshot_date,
  steps.captured_at,
  steps.previous_snapshot_id,
  steps.previous_captured_at,
  CASE
    WHEN NOT changes.was_there AND changes.kind = 'thing' THEN 'added'
    WHEN NOT changes.is_there AND changes.kind = 'thing' THEN 'removed'
    WHEN changes.kind = 'thing' AND changes.entity_type = 'topic' THEN 'recreated'
    WHEN changes.attribute = 'high_watermark' THEN 'truncated'
    WHEN changes.attribute IN ('committed_offset', 'log_start_offset') THEN 'moved_back'
    ELSE 'changed'
  END AS change_type,
  changes.entity_type,
  changes.entity,
  CASE
    WHEN changes.entity_type = 'member' AND changes.kind = 'thing' AND changes.was_there AND changes.is_there
      THEN 'member_id'
    ELSE changes.attribute
  END AS attribute,
  changes.old_value,
  changes.new_value,
  changes.source,
  changes.topic,
  changes.partition,
  changes.group_id,
  changes.broker_id,
  CASE
    WHEN changes.entity_type NOT IN ('topic', 'group') OR changes.kind <> 'thing' THEN TRUE
    WHEN NOT changes.was_there THEN coalesce(steps.previous_visibility = 'complete', FALSE)
    WHEN NOT changes.is_there THEN coalesce(steps.visibility = 'complete', FALSE)
    ELSE TRUE
  END AS is_proven
FROM differing AS changes
JOIN table_coverage AS steps
  ON changes.cluster = steps.cluster
  AND changes.cluster_id IS NOT DISTINCT FROM steps.cluster_id
  AND changes.day = steps.snapshot_date
  AND changes.table_name = steps.table_name
  AND changes.place = steps.place
LEFT JOIN topics_of_days AS old_topics
  ON changes.cluster = old_topics.cluster
  AND changes.cluster_id IS NOT DISTINCT FROM old_topics.cluster_id
  AND changes.day = old_topics.day
  AND changes.table_name = old_topics.table_name
  AND changes.topic = old_topics.topic
  AND array_contains(old_topics.places, changes.place - 1)
LEFT JOIN topics_of_days AS new_topics
  ON changes.cluster = new_topics.cluster
  AND changes.cluster_id IS NOT DISTINCT FROM new_topics.cluster_id
  AND changes.day = new_topics.day
  AND changes.table_name = new_topics.table_name
  AND changes.topic = new_topics.topic
  AND array_contains(new_topics.places, changes.place)
LEFT JOIN groups_of_days AS same_groups
  ON changes.cluster = same_groups.cluster
  AND changes.cluster_id IS NOT DISTINCT FROM same_groups.cluster_id
  AND changes.day = same_groups.day
  AND changes.table_name = same_groups.table_name
  AND changes.group_id = same_groups.group_id
  AND array_contains(same_groups.places, changes.place - 1)
  AND array_contains(same_groups.places, changes.place)
  -- One failure may be that of several groups, which it does not name: a commit is gone only if none may be that of its group.
  AND (changes.is_there OR array_contains(same_groups.read_places, changes.place))
LEFT JOIN grounds_of_days AS grounds
  ON changes.cluster = grounds.cluster
  AND changes.cluster_id IS NOT DISTINCT FROM grounds.cluster_id
  AND changes.day = grounds.day
  AND changes.table_name = grounds.table_name
  AND changes.ground = grounds.ground
  AND array_contains(grounds.places, changes.place - 1)
  AND array_contains(grounds.places, changes.place)
WHERE
  (changes.ground IS NULL OR grounds.ground IS NOT NULL)
  -- The parts of a topic or group that was added, removed or re-created are not listed.
  AND (
    changes.topic IS NULL
    OR old_topics.topic IS NOT NULL
    AND new_topics.topic IS NOT NULL
    AND coalesce(old_topics.topic_id = new_topics.topic_id, TRUE)
    OR changes.entity_type = 'topic' AND changes.kind = 'thing'
  )
  AND (
    changes.group_id IS NULL
    OR same_groups.group_id IS NOT NULL
    OR changes.entity_type = 'group' AND changes.kind = 'thing'
    OR changes.entity_type = 'config'
  )
  -- A topic or group is missing only if the list without it is complete, or if both lists have the same visibility.
  AND CASE
    WHEN changes.entity_type NOT IN ('topic', 'group') OR changes.kind <> 'thing' THEN TRUE
    WHEN NOT changes.was_there
      THEN steps.previous_visibility = 'complete' OR steps.previous_visibility IS NOT DISTINCT FROM steps.visibility
    WHEN NOT changes.is_there
      THEN steps.visibility = 'complete' OR steps.previous_visibility IS NOT DISTINCT FROM steps.visibility
    ELSE TRUE
  END
