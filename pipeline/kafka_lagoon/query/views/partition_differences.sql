CREATE OR REPLACE VIEW partition_differences (
  cluster COMMENT 'Name of the cluster in the configuration.',
  pair COMMENT 'The later one of two published snapshots that are compared.',
  pair_date COMMENT 'UTC day of captured_at.',
  captured_at COMMENT 'When the later snapshot began to read the cluster.',
  table_name COMMENT 'Table in view table_coverage that names the earlier snapshot: topics, consumer_groups or committed_offsets.',
  kind COMMENT 'value: both snapshots have it. held: a missing value is a value, too. thing: may disappear.',
  entity_type COMMENT 'partition, or group_partition: what a group has of a partition.',
  attribute COMMENT 'leader_id, replicas, isr, eligible_leader_replicas, high_watermark, log_start_offset, owner or committed_offset.',
  topic COMMENT 'Name of the topic.',
  partition COMMENT 'Partition number.',
  group_id COMMENT 'group.id; null if entity_type is partition.',
  ground COMMENT 'Entity that both snapshots must have described for the difference to be a change; null if nothing else is needed.',
  was_there COMMENT 'True if the earlier snapshot has it.',
  is_there COMMENT 'True if the later snapshot has it.',
  old_value COMMENT 'The value before, as text; null if there was none.',
  new_value COMMENT 'The value in the later snapshot, as text; null if there is none.'
)
COMMENT 'Differences of partitions, and of what groups have of them, between two published snapshots; topology_changes leaves out those of topics and groups that were added or removed. Offsets that advance are no differences.'
AS
-- Both rows of a partition are compared as they are, and become text only where they differ: there are many, and few differ.
WITH pairs AS (
  SELECT
    cluster,
    snapshot_id,
    snapshot_date,
    captured_at,
    table_name,
    previous_snapshot_id,
    previous_snapshot_date
  FROM table_coverage
  WHERE previous_snapshot_id IS NOT NULL AND table_name IN ('topics', 'consumer_groups', 'committed_offsets')
),
sides AS (
  -- Both snapshots of a pair as rows: DuckDB would join the earlier with the later partitions first, all with all.
  SELECT
    cluster,
    snapshot_id AS pair,
    snapshot_date AS pair_date,
    captured_at,
    table_name,
    snapshot_id,
    snapshot_date,
    TRUE AS is_new
  FROM pairs
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
  FROM pairs
),
partitions_of_both AS (
  SELECT
    sides.cluster,
    sides.pair,
    sides.pair_date,
    sides.captured_at,
    states.topic,
    states.partition,
    max(CASE WHEN NOT sides.is_new THEN states.leader_id END) AS old_leader_id,
    max(CASE WHEN sides.is_new THEN states.leader_id END) AS new_leader_id,
    max(CASE WHEN NOT sides.is_new THEN states.replicas END) AS old_replicas,
    max(CASE WHEN sides.is_new THEN states.replicas END) AS new_replicas,
    max(CASE WHEN NOT sides.is_new THEN array_sort(states.isr) END) AS old_isr,
    max(CASE WHEN sides.is_new THEN array_sort(states.isr) END) AS new_isr,
    max(CASE WHEN NOT sides.is_new THEN array_sort(states.eligible_leader_replicas) END) AS old_eligible,
    max(CASE WHEN sides.is_new THEN array_sort(states.eligible_leader_replicas) END) AS new_eligible
  FROM partitions_published AS states
  JOIN sides
    ON states.cluster = sides.cluster
    AND states.snapshot_id = sides.snapshot_id
    AND states.snapshot_date = sides.snapshot_date
    AND sides.table_name = 'topics'
  GROUP BY
    sides.cluster,
    sides.pair,
    sides.pair_date,
    sides.captured_at,
    states.topic,
    states.partition
  HAVING count(*) = 2
),
offsets_of_both AS (
  SELECT
    sides.cluster,
    sides.pair,
    sides.pair_date,
    sides.captured_at,
    offsets.topic,
    offsets.partition,
    max(CASE WHEN NOT sides.is_new THEN offsets.high_watermark END) AS old_high_watermark,
    max(CASE WHEN sides.is_new THEN offsets.high_watermark END) AS new_high_watermark,
    max(CASE WHEN NOT sides.is_new THEN offsets.log_start_offset END) AS old_log_start_offset,
    max(CASE WHEN sides.is_new THEN offsets.log_start_offset END) AS new_log_start_offset
  FROM partition_offsets_published AS offsets
  JOIN sides
    ON offsets.cluster = sides.cluster
    AND offsets.snapshot_id = sides.snapshot_id
    AND offsets.snapshot_date = sides.snapshot_date
    AND sides.table_name = 'topics'
  -- A partition with one unknown offset is not compared.
  WHERE offsets.high_watermark IS NOT NULL AND offsets.log_start_offset IS NOT NULL
  GROUP BY
    sides.cluster,
    sides.pair,
    sides.pair_date,
    sides.captured_at,
    offsets.topic,
    offsets.partition
  HAVING count(*) = 2
),
owned AS (
  SELECT
    lag.cluster,
    lag.snapshot_id,
    lag.snapshot_date,
    lag.group_id,
    lag.topic,
    lag.partition,
    coalesce(members.group_instance_id, lag.member_id) AS owner
  FROM consumer_lag_published AS lag
  LEFT JOIN group_members_published AS members
    ON lag.cluster = members.cluster
    AND lag.snapshot_id = members.snapshot_id
    AND lag.snapshot_date = members.snapshot_date
    AND lag.group_id = members.group_id
    AND lag.member_id = members.member_id
  WHERE lag.member_id IS NOT NULL
),
owners_of_both AS (
  SELECT
    sides.cluster,
    sides.pair,
    sides.pair_date,
    sides.captured_at,
    owned.group_id,
    owned.topic,
    owned.partition,
    max(CASE WHEN NOT sides.is_new THEN owned.owner END) AS old_owner,
    max(CASE WHEN sides.is_new THEN owned.owner END) AS new_owner
  FROM owned
  JOIN sides
    ON owned.cluster = sides.cluster
    AND owned.snapshot_id = sides.snapshot_id
    AND owned.snapshot_date = sides.snapshot_date
    AND sides.table_name = 'consumer_groups'
  GROUP BY
    sides.cluster,
    sides.pair,
    sides.pair_date,
    sides.captured_at,
    owned.group_id,
    owned.topic,
    owned.partition
)
SELECT
  cluster,
  pair,
  pair_date,
  captured_at,
  'topics' AS table_name,
  'value' AS kind,
  'partition' AS entity_type,
  names.attribute,
  topic,
  partition,
  CAST(NULL AS STRING) AS group_id,
  CAST(NULL AS STRING) AS ground,
  TRUE AS was_there,
  TRUE AS is_there,
  CASE names.attribute
    WHEN 'leader_id' THEN CAST(old_leader_id AS STRING)
    WHEN 'replicas' THEN CAST(old_replicas AS STRING)
    WHEN 'isr' THEN CAST(old_isr AS STRING)
    ELSE CAST(old_eligible AS STRING)
  END AS old_value,
  CASE names.attribute
    WHEN 'leader_id' THEN CAST(new_leader_id AS STRING)
    WHEN 'replicas' THEN CAST(new_replicas AS STRING)
    WHEN 'isr' THEN CAST(new_isr AS STRING)
    ELSE CAST(new_eligible AS STRING)
  END AS new_value
FROM partitions_of_both
CROSS JOIN (VALUES ('leader_id'), ('replicas'), ('isr'), ('eligible_leader_replicas')) AS names (attribute)
WHERE
  CASE names.attribute
    WHEN 'leader_id' THEN old_leader_id IS DISTINCT FROM new_leader_id
    WHEN 'replicas' THEN old_replicas IS DISTINCT FROM new_replicas
    WHEN 'isr' THEN old_isr IS DISTINCT FROM new_isr
    -- Brokers before Kafka 4.0 return no eligible leader replicas.
    ELSE old_eligible IS NOT NULL AND new_eligible IS NOT NULL AND old_eligible <> new_eligible
  END
UNION ALL
SELECT
  cluster, pair, pair_date, captured_at, 'topics', 'value', 'partition', names.attribute,
  topic, partition, NULL, NULL, TRUE, TRUE,
  CAST(CASE names.attribute WHEN 'high_watermark' THEN old_high_watermark ELSE old_log_start_offset END AS STRING),
  CAST(CASE names.attribute WHEN 'high_watermark' THEN new_high_watermark ELSE new_log_start_offset END AS STRING)
FROM offsets_of_both
CROSS JOIN (VALUES ('high_watermark'), ('log_start_offset')) AS names (attribute)
WHERE
  CASE names.attribute
    WHEN 'high_watermark' THEN new_high_watermark < old_high_watermark
    ELSE new_log_start_offset < old_log_start_offset
  END
UNION ALL
SELECT
  cluster, pair, pair_date, captured_at, 'consumer_groups', 'held', 'group_partition', 'owner',
  topic, partition, group_id, concat('owners ', group_id), old_owner IS NOT NULL, new_owner IS NOT NULL,
  old_owner, new_owner
FROM owners_of_both
WHERE old_owner IS DISTINCT FROM new_owner
UNION ALL
-- A first commit is no difference.
SELECT
  pairs.cluster, pairs.snapshot_id, pairs.snapshot_date, pairs.captured_at, 'committed_offsets', 'thing',
  'group_partition', 'committed_offset', earlier.topic, earlier.partition, earlier.group_id, NULL,
  TRUE, later.committed_offset IS NOT NULL,
  CAST(earlier.committed_offset AS STRING), CAST(later.committed_offset AS STRING)
FROM pairs
JOIN committed_offsets_published AS earlier
  ON pairs.cluster = earlier.cluster
  AND pairs.previous_snapshot_id = earlier.snapshot_id
  AND pairs.previous_snapshot_date = earlier.snapshot_date
LEFT JOIN committed_offsets_published AS later
  ON pairs.cluster = later.cluster
  AND pairs.snapshot_id = later.snapshot_id
  AND pairs.snapshot_date = later.snapshot_date
  AND earlier.group_id = later.group_id
  AND earlier.topic = later.topic
  AND earlier.partition = later.partition
WHERE
  pairs.table_name = 'committed_offsets'
  AND earlier.committed_offset IS NOT NULL
  AND (later.committed_offset IS NULL OR later.committed_offset < earlier.committed_offset)
