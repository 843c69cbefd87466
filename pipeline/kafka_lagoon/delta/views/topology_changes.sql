CREATE OR REPLACE VIEW topology_changes (
  cluster COMMENT 'Name of the cluster in the configuration.',
  cluster_id COMMENT 'Id that the cluster gave itself; null if no broker named it.',
  snapshot_id COMMENT 'The published snapshot that shows the change first.',
  snapshot_date COMMENT 'UTC day of captured_at.',
  captured_at COMMENT 'When that snapshot began to look at the cluster.',
  previous_snapshot_id COMMENT 'The snapshot it is compared with: the latest before it that has the whole table (table_coverage).',
  previous_captured_at COMMENT 'When that snapshot began: the change was made between both.',
  change_type COMMENT 'added, removed, changed, recreated (a topic under its old name), moved_back (a commit, or the start of a log) or truncated (the end of a log went down).',
  entity_type COMMENT 'What changed: cluster, broker, topic, partition, group, member, group_partition (what a group has or does there) or acl.',
  entity COMMENT 'Which one, for people: the broker, topic-partition, group, member or ACL.',
  attribute COMMENT 'What of it changed, as its table names the column; null for added, removed and recreated.',
  old_value COMMENT 'The value before: a topic or member by its id, lists of brokers as [1, 2]; null if there was none.',
  new_value COMMENT 'The value now; null if there is none.',
  topic COMMENT 'Name of the topic; null if the change is not about one.',
  partition COMMENT 'Partition number; null likewise.',
  group_id COMMENT 'group.id; null likewise.',
  broker_id COMMENT 'node.id of the broker; null likewise.',
  is_proven COMMENT 'False for a topic or group that was added or removed where the list may be short: permissions may have changed instead.'
)
COMMENT 'What changed between two published snapshots of a cluster, one row per change. What appears or goes is one row, without its parts; a table that is not whole in a snapshot shows its changes in the next one.'
AS
WITH sides AS (
  SELECT cluster, snapshot_id AS pair, table_name, snapshot_id, snapshot_date, TRUE AS is_new
  FROM table_coverage
  WHERE previous_snapshot_id IS NOT NULL
  UNION ALL
  SELECT cluster, snapshot_id, table_name, previous_snapshot_id, previous_snapshot_date, FALSE
  FROM table_coverage
  WHERE previous_snapshot_id IS NOT NULL
),
facts AS (
  -- kind: thing (may appear and go), value (compared where both are known), held (null where there is no row)
  SELECT
    cluster,
    snapshot_id,
    snapshot_date,
    'brokers' AS table_name,
    'thing' AS kind,
    'broker' AS entity_type,
    CAST(broker_id AS STRING) AS entity,
    CAST(NULL AS STRING) AS attribute,
    CAST(NULL AS STRING) AS value,
    CAST(NULL AS STRING) AS topic,
    CAST(NULL AS INT) AS partition,
    CAST(NULL AS STRING) AS group_id,
    broker_id
  FROM brokers_published
  UNION ALL
  SELECT
    cluster,
    snapshot_id,
    snapshot_date,
    'brokers',
    'value',
    'broker',
    CAST(broker_id AS STRING),
    names.attribute,
    CASE names.attribute
      WHEN 'host' THEN host
      WHEN 'port' THEN CAST(port AS STRING)
      WHEN 'rack' THEN rack
      ELSE CAST(is_fenced AS STRING)
    END,
    NULL,
    NULL,
    NULL,
    broker_id
  FROM brokers_published
  CROSS JOIN (VALUES ('host'), ('port'), ('rack'), ('is_fenced')) AS names (attribute)
  WHERE CASE names.attribute WHEN 'rack' THEN TRUE WHEN 'is_fenced' THEN is_fenced IS NOT NULL ELSE host IS NOT NULL END
  UNION ALL
  SELECT
    cluster,
    snapshot_id,
    snapshot_date,
    'brokers',
    'value',
    'cluster',
    'cluster',
    'controller_id',
    CAST(broker_id AS STRING),
    NULL,
    NULL,
    NULL,
    NULL
  FROM brokers_published
  WHERE is_controller
  UNION ALL
  SELECT cluster, snapshot_id, snapshot_date, 'topics', 'thing', 'topic', topic, NULL, topic_id, topic, NULL, NULL, NULL
  FROM topics_published
  UNION ALL
  SELECT
    cluster,
    snapshot_id,
    snapshot_date,
    'topics',
    'value',
    'topic',
    topic,
    'partitions',
    CAST(partitions AS STRING),
    topic,
    NULL,
    NULL,
    NULL
  FROM topics_published
  WHERE partitions IS NOT NULL
  UNION ALL
  SELECT
    cluster,
    snapshot_id,
    snapshot_date,
    'topics',
    'value',
    'partition',
    concat(topic, '-', partition),
    names.attribute,
    CASE names.attribute
      WHEN 'leader_id' THEN CAST(leader_id AS STRING)
      WHEN 'replicas' THEN CAST(replicas AS STRING)
      WHEN 'isr' THEN CAST(array_sort(isr) AS STRING)
      ELSE CAST(array_sort(eligible_leader_replicas) AS STRING)
    END,
    topic,
    partition,
    NULL,
    NULL
  FROM partitions_published
  CROSS JOIN (VALUES ('leader_id'), ('replicas'), ('isr'), ('eligible_leader_replicas')) AS names (attribute)
  WHERE names.attribute <> 'eligible_leader_replicas' OR eligible_leader_replicas IS NOT NULL
  UNION ALL
  SELECT
    cluster,
    snapshot_id,
    snapshot_date,
    'topics',
    'value',
    'partition',
    concat(topic, '-', partition),
    names.attribute,
    CAST(CASE names.attribute WHEN 'high_watermark' THEN high_watermark ELSE log_start_offset END AS STRING),
    topic,
    partition,
    NULL,
    NULL
  FROM partition_offsets_published
  CROSS JOIN (VALUES ('high_watermark'), ('log_start_offset')) AS names (attribute)
  WHERE high_watermark IS NOT NULL AND log_start_offset IS NOT NULL
  UNION ALL
  SELECT
    cluster,
    snapshot_id,
    snapshot_date,
    'consumer_groups',
    'thing',
    'group',
    group_id,
    NULL,
    NULL,
    NULL,
    NULL,
    group_id,
    NULL
  FROM consumer_groups_published
  UNION ALL
  SELECT
    cluster,
    snapshot_id,
    snapshot_date,
    'consumer_groups',
    'value',
    'group',
    group_id,
    names.attribute,
    CASE names.attribute WHEN 'state' THEN state WHEN 'group_type' THEN group_type ELSE protocol END,
    NULL,
    NULL,
    group_id,
    NULL
  FROM consumer_groups_published
  CROSS JOIN (VALUES ('state'), ('group_type'), ('protocol')) AS names (attribute)
  WHERE
    problem IS NULL
    AND CASE names.attribute WHEN 'state' THEN state WHEN 'group_type' THEN group_type ELSE nullif(protocol, '') END
      IS NOT NULL
  UNION ALL
  SELECT
    cluster,
    snapshot_id,
    snapshot_date,
    'consumer_groups',
    'thing',
    'member',
    coalesce(group_instance_id, member_id),
    NULL,
    member_id,
    NULL,
    NULL,
    group_id,
    NULL
  FROM group_members_published
  UNION ALL
  SELECT
    cluster,
    snapshot_id,
    snapshot_date,
    'consumer_groups',
    'value',
    'member',
    coalesce(group_instance_id, member_id),
    names.attribute,
    CASE names.attribute
      WHEN 'client_id' THEN client_id
      WHEN 'client_host' THEN client_host
      ELSE CAST(array_sort(subscribed_topics) AS STRING)
    END,
    NULL,
    NULL,
    group_id,
    NULL
  FROM group_members_published
  CROSS JOIN (VALUES ('client_id'), ('client_host'), ('subscribed_topics')) AS names (attribute)
  WHERE names.attribute <> 'subscribed_topics' OR subscribed_topics IS NOT NULL
  UNION ALL
  SELECT
    owned.cluster,
    owned.snapshot_id,
    owned.snapshot_date,
    'consumer_groups',
    'held',
    'group_partition',
    concat(owned.group_id, ' ', owned.topic, '-', owned.partition),
    'owner',
    coalesce(members.group_instance_id, owned.member_id),
    owned.topic,
    owned.partition,
    owned.group_id,
    NULL
  FROM consumer_lag_published AS owned
  LEFT JOIN group_members_published AS members
    ON owned.cluster = members.cluster
    AND owned.snapshot_id = members.snapshot_id
    AND owned.snapshot_date = members.snapshot_date
    AND owned.group_id = members.group_id
    AND owned.member_id = members.member_id
  WHERE owned.member_id IS NOT NULL
  UNION ALL
  SELECT
    cluster,
    snapshot_id,
    snapshot_date,
    'committed_offsets',
    'thing',
    'group_partition',
    concat(group_id, ' ', topic, '-', partition),
    'committed_offset',
    CAST(committed_offset AS STRING),
    topic,
    partition,
    group_id,
    NULL
  FROM committed_offsets_published
  WHERE committed_offset IS NOT NULL
  UNION ALL
  SELECT
    cluster,
    snapshot_id,
    snapshot_date,
    'acls',
    'thing',
    'acl',
    concat_ws(' ', resource_type, pattern_type, resource_name, principal, host, operation, permission),
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL
  FROM acls_published
),
compared AS (
  SELECT
    facts.cluster,
    sides.pair,
    facts.table_name,
    facts.kind,
    facts.entity_type,
    facts.entity,
    facts.attribute,
    facts.topic,
    facts.partition,
    facts.group_id,
    facts.broker_id,
    bool_or(NOT sides.is_new) AS was_there,
    bool_or(sides.is_new) AS is_there,
    max(CASE WHEN NOT sides.is_new THEN facts.value END) AS old_value,
    max(CASE WHEN sides.is_new THEN facts.value END) AS new_value
  FROM facts
  JOIN sides
    ON facts.cluster = sides.cluster
    AND facts.snapshot_id = sides.snapshot_id
    AND facts.snapshot_date = sides.snapshot_date
    AND facts.table_name = sides.table_name
  GROUP BY
    facts.cluster,
    sides.pair,
    facts.table_name,
    facts.kind,
    facts.entity_type,
    facts.entity,
    facts.attribute,
    facts.topic,
    facts.partition,
    facts.group_id,
    facts.broker_id
),
same_topics AS (
  SELECT topics.cluster, sides.pair, sides.table_name, topics.topic
  FROM topics_published AS topics
  JOIN sides
    ON topics.cluster = sides.cluster
    AND topics.snapshot_id = sides.snapshot_id
    AND topics.snapshot_date = sides.snapshot_date
  WHERE sides.table_name IN ('topics', 'consumer_groups', 'committed_offsets')
  GROUP BY topics.cluster, sides.pair, sides.table_name, topics.topic
  HAVING count(*) = 2 AND coalesce(min(topics.topic_id) = max(topics.topic_id), TRUE)
),
unknown_commits AS (
  SELECT DISTINCT cluster, snapshot_id, snapshot_date, group_id FROM collection_failures WHERE api = 'OffsetFetch'
),
unknown_owners AS (
  SELECT DISTINCT cluster, snapshot_id, snapshot_date, group_id FROM group_members_published WHERE problem IS NOT NULL
),
same_groups AS (
  SELECT
    known.cluster,
    sides.pair,
    sides.table_name,
    known.group_id,
    bool_and(
      known.state NOT IN ('PreparingRebalance', 'CompletingRebalance') AND unknown_owners.group_id IS NULL
    ) AS owners_are_known
  FROM consumer_groups_published AS known
  JOIN sides
    ON known.cluster = sides.cluster
    AND known.snapshot_id = sides.snapshot_id
    AND known.snapshot_date = sides.snapshot_date
  LEFT JOIN unknown_owners
    ON known.cluster = unknown_owners.cluster
    AND known.snapshot_id = unknown_owners.snapshot_id
    AND known.snapshot_date = unknown_owners.snapshot_date
    AND known.group_id = unknown_owners.group_id
  LEFT JOIN unknown_commits
    ON sides.table_name = 'committed_offsets'
    AND known.cluster = unknown_commits.cluster
    AND known.snapshot_id = unknown_commits.snapshot_id
    AND known.snapshot_date = unknown_commits.snapshot_date
    AND known.group_id = coalesce(unknown_commits.group_id, known.group_id)
  WHERE
    sides.table_name IN ('consumer_groups', 'committed_offsets')
    AND known.problem IS NULL
    AND unknown_commits.snapshot_id IS NULL
  GROUP BY known.cluster, sides.pair, sides.table_name, known.group_id
  HAVING count(DISTINCT known.snapshot_id) = 2
)
SELECT
  steps.cluster,
  steps.cluster_id,
  steps.snapshot_id,
  steps.snapshot_date,
  steps.captured_at,
  steps.previous_snapshot_id,
  steps.previous_captured_at,
  CASE
    WHEN NOT compared.was_there AND compared.kind = 'thing' THEN 'added'
    WHEN NOT compared.is_there AND compared.kind = 'thing' THEN 'removed'
    WHEN compared.kind = 'thing' AND compared.entity_type = 'topic' THEN 'recreated'
    WHEN compared.attribute = 'high_watermark' THEN 'truncated'
    WHEN compared.attribute IN ('committed_offset', 'log_start_offset') THEN 'moved_back'
    ELSE 'changed'
  END AS change_type,
  compared.entity_type,
  compared.entity,
  CASE
    WHEN compared.entity_type = 'member' AND compared.kind = 'thing' AND compared.was_there AND compared.is_there
      THEN 'member_id'
    ELSE compared.attribute
  END AS attribute,
  compared.old_value,
  compared.new_value,
  compared.topic,
  compared.partition,
  compared.group_id,
  compared.broker_id,
  CASE
    WHEN compared.entity_type NOT IN ('topic', 'group') OR compared.kind <> 'thing' THEN TRUE
    WHEN NOT compared.was_there THEN coalesce(steps.previous_visibility = 'complete', FALSE)
    WHEN NOT compared.is_there THEN coalesce(steps.visibility = 'complete', FALSE)
    ELSE TRUE
  END AS is_proven
FROM compared
JOIN table_coverage AS steps
  ON compared.cluster = steps.cluster
  AND compared.pair = steps.snapshot_id
  AND compared.table_name = steps.table_name
LEFT JOIN same_topics
  ON compared.cluster = same_topics.cluster
  AND compared.pair = same_topics.pair
  AND compared.table_name = same_topics.table_name
  AND compared.topic = same_topics.topic
LEFT JOIN same_groups
  ON compared.cluster = same_groups.cluster
  AND compared.pair = same_groups.pair
  AND compared.table_name = same_groups.table_name
  AND compared.group_id = same_groups.group_id
WHERE
  CASE compared.kind
    WHEN 'value' THEN
      compared.was_there AND compared.is_there AND compared.old_value IS DISTINCT FROM compared.new_value
    WHEN 'held' THEN compared.old_value IS DISTINCT FROM compared.new_value
    ELSE NOT compared.was_there OR NOT compared.is_there OR compared.old_value <> compared.new_value
  END
  AND CASE
    WHEN compared.attribute IN ('high_watermark', 'log_start_offset')
      THEN CAST(compared.new_value AS BIGINT) < CAST(compared.old_value AS BIGINT)
    -- To commit further, or for the first time, is no change.
    WHEN compared.attribute = 'committed_offset'
      THEN compared.new_value IS NULL OR CAST(compared.new_value AS BIGINT) < CAST(compared.old_value AS BIGINT)
    ELSE TRUE
  END
  -- What a topic or group that appeared, went or was made again consists of is not listed.
  AND (
    compared.topic IS NULL
    OR compared.entity_type = 'topic' AND compared.kind = 'thing'
    OR same_topics.topic IS NOT NULL
  )
  AND (
    compared.group_id IS NULL
    OR compared.entity_type = 'group' AND compared.kind = 'thing'
    OR compared.kind = 'held' AND same_groups.owners_are_known
    OR compared.kind <> 'held' AND same_groups.group_id IS NOT NULL
  )
  -- A list that was proven to be whole only before, or only now, says nothing about what is missing in the other.
  AND CASE
    WHEN compared.entity_type NOT IN ('topic', 'group') OR compared.kind <> 'thing' THEN TRUE
    WHEN NOT compared.was_there
      THEN steps.previous_visibility = 'complete' OR steps.previous_visibility IS NOT DISTINCT FROM steps.visibility
    WHEN NOT compared.is_there
      THEN steps.visibility = 'complete' OR steps.previous_visibility IS NOT DISTINCT FROM steps.visibility
    ELSE TRUE
  END
