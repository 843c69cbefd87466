CREATE OR REPLACE VIEW topology_changes (
  cluster COMMENT 'Name of the cluster in the configuration.',
  cluster_id COMMENT 'Id of the cluster in Kafka; null if no broker returned it.',
  snapshot_id COMMENT 'The published snapshot that shows the change first.',
  snapshot_date COMMENT 'UTC day of captured_at.',
  captured_at COMMENT 'When the snapshot began to read the cluster.',
  previous_snapshot_id COMMENT 'The snapshot that it is compared with: the latest earlier snapshot with the whole table (table_coverage).',
  previous_captured_at COMMENT 'When that snapshot began: the change was made between the two.',
  change_type COMMENT 'added, removed, changed, recreated (a topic under its old name), moved_back (a commit, or the start of a log) or truncated (the end of a log went down).',
  entity_type COMMENT 'Type of the changed entity: cluster, broker, voter, log_dir, topic, partition, reassignment, config, feature, quota, scram_user, delegation_token, acl, group, member or group_partition (ownership and commit of a partition by a group).',
  entity COMMENT 'The broker, topic-partition, group, member or ACL, for people.',
  attribute COMMENT 'The attribute that changed: the name of its column, config or quota, or the mechanism of a SCRAM user; null for the entity as a whole.',
  old_value COMMENT 'The value before: a topic or member by its id, lists of brokers as [1, 2], iterations of a SCRAM user; null if there was none, or if it is secret.',
  new_value COMMENT 'The value now; null if there is none, or if it is secret. A config that is not set any more has its default.',
  source COMMENT 'Where a config is set, as Kafka names it, e.g. TOPIC_CONFIG; null for other changes.',
  topic COMMENT 'Name of the topic; null if the change is not about a topic.',
  partition COMMENT 'Partition number; null if the change is not about a partition.',
  group_id COMMENT 'group.id; null if the change is not about a group.',
  broker_id COMMENT 'node.id of the broker; null if the change is not about a broker.',
  is_proven COMMENT 'False for a topic or group that was added or removed while the list may be incomplete: permissions or settings may have changed instead.'
)
COMMENT 'Changes between two published snapshots of a cluster, one row per change. An entity that appears or disappears is a single row, without its parts. The changes of a table that is incomplete in a snapshot show in the next snapshot with the whole table.'
AS
WITH sides AS (
  -- A pair has the id and the time of its later snapshot, so that a filter on them is also a filter on the tables.
  SELECT
    cluster,
    snapshot_id AS pair,
    snapshot_date AS pair_date,
    captured_at,
    table_name,
    snapshot_id,
    snapshot_date,
    TRUE AS is_new
  FROM table_coverage
  WHERE previous_snapshot_id IS NOT NULL
  UNION ALL
  SELECT
    cluster,
    snapshot_id,
    snapshot_date,
    captured_at,
    table_name,
    previous_snapshot_id,
    previous_snapshot_date,
    FALSE
  FROM table_coverage
  WHERE previous_snapshot_id IS NOT NULL
),
compared AS (
  SELECT
    facts.cluster,
    sides.pair,
    sides.pair_date,
    sides.captured_at,
    facts.table_name,
    facts.kind,
    facts.entity_type,
    facts.entity,
    facts.attribute,
    facts.source,
    facts.topic,
    facts.partition,
    facts.group_id,
    facts.broker_id,
    facts.ground,
    bool_or(NOT sides.is_new) AS was_there,
    bool_or(sides.is_new) AS is_there,
    max(CASE WHEN NOT sides.is_new THEN facts.value END) AS old_value,
    max(CASE WHEN sides.is_new THEN facts.value END) AS new_value
  FROM topology_facts AS facts
  JOIN sides
    ON facts.cluster = sides.cluster
    AND facts.snapshot_id = sides.snapshot_id
    AND facts.snapshot_date = sides.snapshot_date
    AND facts.table_name = sides.table_name
  GROUP BY
    facts.cluster,
    sides.pair,
    sides.pair_date,
    sides.captured_at,
    facts.table_name,
    facts.kind,
    facts.entity_type,
    facts.entity,
    facts.attribute,
    facts.source,
    facts.topic,
    facts.partition,
    facts.group_id,
    facts.broker_id,
    facts.ground
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
    pair,
    pair_date,
    captured_at,
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
same_topics AS (
  SELECT topics.cluster, sides.pair, sides.table_name, topics.topic
  FROM topics_published AS topics
  JOIN sides
    ON topics.cluster = sides.cluster
    AND topics.snapshot_id = sides.snapshot_id
    AND topics.snapshot_date = sides.snapshot_date
  WHERE sides.table_name IN ('topics', 'reassignments', 'configs', 'consumer_groups', 'committed_offsets')
  GROUP BY topics.cluster, sides.pair, sides.table_name, topics.topic
  HAVING count(*) = 2 AND coalesce(min(topics.topic_id) = max(topics.topic_id), TRUE)
),
unknown_commits AS (
  SELECT DISTINCT cluster, snapshot_id, snapshot_date, group_id FROM collection_failures WHERE api = 'OffsetFetch'
),
same_groups AS (
  SELECT groups.cluster, sides.pair, sides.table_name, groups.group_id
  FROM consumer_groups_published AS groups
  JOIN sides
    ON groups.cluster = sides.cluster
    AND groups.snapshot_id = sides.snapshot_id
    AND groups.snapshot_date = sides.snapshot_date
  LEFT JOIN unknown_commits
    ON sides.table_name = 'committed_offsets'
    AND groups.cluster = unknown_commits.cluster
    AND groups.snapshot_id = unknown_commits.snapshot_id
    AND groups.snapshot_date = unknown_commits.snapshot_date
    AND groups.group_id = coalesce(unknown_commits.group_id, groups.group_id)
  WHERE
    sides.table_name IN ('consumer_groups', 'committed_offsets')
    AND groups.problem IS NULL
    AND unknown_commits.snapshot_id IS NULL
  GROUP BY groups.cluster, sides.pair, sides.table_name, groups.group_id
  HAVING count(*) = 2
),
grounds AS (
  SELECT described.cluster, sides.pair, described.table_name, described.ground
  FROM described_entities AS described
  JOIN sides
    ON described.cluster = sides.cluster
    AND described.snapshot_id = sides.snapshot_id
    AND described.snapshot_date = sides.snapshot_date
    AND described.table_name = sides.table_name
  GROUP BY described.cluster, sides.pair, described.table_name, described.ground
  HAVING count(*) = 2
)
SELECT
  changes.cluster,
  steps.cluster_id,
  changes.pair AS snapshot_id,
  changes.pair_date AS snapshot_date,
  changes.captured_at,
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
  AND changes.pair = steps.snapshot_id
  AND changes.table_name = steps.table_name
LEFT JOIN same_topics
  ON changes.cluster = same_topics.cluster
  AND changes.pair = same_topics.pair
  AND changes.table_name = same_topics.table_name
  AND changes.topic = same_topics.topic
LEFT JOIN same_groups
  ON changes.cluster = same_groups.cluster
  AND changes.pair = same_groups.pair
  AND changes.table_name = same_groups.table_name
  AND changes.group_id = same_groups.group_id
LEFT JOIN grounds
  ON changes.cluster = grounds.cluster
  AND changes.pair = grounds.pair
  AND changes.table_name = grounds.table_name
  AND changes.ground = grounds.ground
WHERE
  (changes.ground IS NULL OR grounds.ground IS NOT NULL)
  -- The parts of a topic or group that was added, removed or re-created are not listed.
  AND (
    changes.topic IS NULL
    OR same_topics.topic IS NOT NULL
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
