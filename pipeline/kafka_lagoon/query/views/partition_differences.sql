CREATE OR REPLACE VIEW partition_differences (
  cluster COMMENT 'Name of the cluster in the configuration.',
  cluster_id COMMENT 'Id of the cluster in Kafka; null if no broker returned it.',
  day COMMENT 'UTC day of the later one of the two snapshots.',
  place COMMENT 'Number of the later snapshot in view table_coverage.',
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
-- Most partitions stay as they are, in all snapshots of a day. So the snapshots of each state are listed by day first, and only
-- states that some of them lack are compared.
WITH states AS (
  SELECT
    seen.cluster,
    seen.cluster_id,
    seen.day,
    seen.first_place,
    seen.last_place,
    partitions.topic,
    partitions.partition,
    partitions.leader_id,
    partitions.replicas,
    array_sort(partitions.isr) AS isr,
    array_sort(partitions.eligible_leader_replicas) AS eligible,
    array_agg(seen.place) AS places
  FROM partitions
  JOIN day_snapshots AS seen
    ON partitions.cluster = seen.cluster
    AND partitions.snapshot_id = seen.snapshot_id
    AND partitions.snapshot_date = seen.snapshot_date
    AND seen.table_name = 'topics'
  GROUP BY
    seen.cluster,
    seen.cluster_id,
    seen.day,
    seen.first_place,
    seen.last_place,
    partitions.topic,
    partitions.partition,
    partitions.leader_id,
    partitions.replicas,
    array_sort(partitions.isr),
    array_sort(partitions.eligible_leader_replicas)
  HAVING count(*) <= seen.last_place - seen.first_place
),
state_places AS (
  SELECT states.*, explode(places) AS place FROM states
),
state_sides AS (
  SELECT state_places.*, place + sides.number AS pair, sides.number = 0 AS is_new
  FROM state_places
  CROSS JOIN (VALUES (0), (1)) AS sides (number)
  WHERE
    CASE sides.number
      WHEN 0 THEN place > first_place AND NOT array_contains(places, place - 1)
      ELSE place < last_place AND NOT array_contains(places, place + 1)
    END
),
states_of_both AS (
  SELECT
    cluster,
    cluster_id,
    day,
    pair AS place,
    topic,
    partition,
    max(CASE WHEN NOT is_new THEN leader_id END) AS old_leader_id,
    max(CASE WHEN is_new THEN leader_id END) AS new_leader_id,
    max(CASE WHEN NOT is_new THEN replicas END) AS old_replicas,
    max(CASE WHEN is_new THEN replicas END) AS new_replicas,
    max(CASE WHEN NOT is_new THEN isr END) AS old_isr,
    max(CASE WHEN is_new THEN isr END) AS new_isr,
    max(CASE WHEN NOT is_new THEN eligible END) AS old_eligible,
    max(CASE WHEN is_new THEN eligible END) AS new_eligible
  FROM state_sides
  GROUP BY cluster, cluster_id, day, pair, topic, partition
  HAVING count(*) = 2
),
ends AS (
  SELECT
    seen.cluster,
    seen.cluster_id,
    seen.day,
    seen.place,
    offsets.topic,
    offsets.partition,
    offsets.high_watermark,
    offsets.log_start_offset,
    lag(offsets.high_watermark) OVER earlier AS previous_high_watermark,
    lag(offsets.log_start_offset) OVER earlier AS previous_log_start_offset
  FROM partition_offsets AS offsets
  JOIN day_snapshots AS seen
    ON offsets.cluster = seen.cluster
    AND offsets.snapshot_id = seen.snapshot_id
    AND offsets.snapshot_date = seen.snapshot_date
    AND seen.table_name = 'topics'
  -- A partition with an unknown offset is compared in the next snapshot that knows both.
  WHERE offsets.high_watermark IS NOT NULL AND offsets.log_start_offset IS NOT NULL
  WINDOW earlier AS (
    PARTITION BY seen.cluster, seen.cluster_id, seen.day, offsets.topic, offsets.topic_id, offsets.partition
    ORDER BY seen.place
  )
),
members AS (
  SELECT
    seen.cluster,
    seen.cluster_id,
    seen.day,
    seen.first_place,
    seen.last_place,
    lag.group_id,
    lag.topic,
    lag.partition,
    lag.member_id,
    array_agg(seen.place) AS places
  FROM consumer_lag AS lag
  JOIN day_snapshots AS seen
    ON lag.cluster = seen.cluster
    AND lag.snapshot_id = seen.snapshot_id
    AND lag.snapshot_date = seen.snapshot_date
    AND seen.table_name = 'consumer_groups'
  WHERE lag.member_id IS NOT NULL
  GROUP BY
    seen.cluster,
    seen.cluster_id,
    seen.day,
    seen.first_place,
    seen.last_place,
    lag.group_id,
    lag.topic,
    lag.partition,
    lag.member_id
  HAVING count(*) <= seen.last_place - seen.first_place
),
member_places AS (
  SELECT members.*, explode(places) AS place FROM members
),
member_sides AS (
  SELECT member_places.*, place + sides.number AS pair, sides.number = 0 AS is_new
  FROM member_places
  CROSS JOIN (VALUES (0), (1)) AS sides (number)
  WHERE
    CASE sides.number
      WHEN 0 THEN place > first_place AND NOT array_contains(places, place - 1)
      ELSE place < last_place AND NOT array_contains(places, place + 1)
    END
),
-- A static member that restarts has another member id, and is the same owner.
owner_sides AS (
  SELECT owned.*, coalesce(described.group_instance_id, owned.member_id) AS owner
  FROM member_sides AS owned
  JOIN day_snapshots AS seen
    ON owned.cluster = seen.cluster
    AND owned.cluster_id IS NOT DISTINCT FROM seen.cluster_id
    AND owned.day = seen.day
    AND owned.place = seen.place
    AND seen.table_name = 'consumer_groups'
  LEFT JOIN group_members AS described
    ON seen.cluster = described.cluster
    AND seen.snapshot_id = described.snapshot_id
    AND seen.snapshot_date = described.snapshot_date
    AND owned.group_id = described.group_id
    AND owned.member_id = described.member_id
),
owners_of_both AS (
  SELECT
    cluster,
    cluster_id,
    day,
    pair AS place,
    group_id,
    topic,
    partition,
    max(CASE WHEN NOT is_new THEN owner END) AS old_owner,
    max(CASE WHEN is_new THEN owner END) AS new_owner
  FROM owner_sides
  GROUP BY cluster, cluster_id, day, pair, group_id, topic, partition
),
-- Commits differ in each snapshot. Five in a row become one row, which takes DuckDB a third of the time of rows for each two.
fives AS (
  SELECT
    day_snapshots.*,
    place - place % 4 - parts.number AS first_of_five,
    place % 4 + parts.number AS position
  FROM day_snapshots
  CROSS JOIN (VALUES (0), (4)) AS parts (number)
  WHERE table_name = 'committed_offsets' AND (parts.number = 0 OR place % 4 = 0)
),
commits_of_five AS (
  SELECT
    fives.cluster,
    fives.cluster_id,
    fives.day,
    fives.first_of_five,
    fives.last_place,
    commits.group_id,
    commits.topic,
    commits.partition,
    max(CASE WHEN fives.position = 0 THEN commits.committed_offset END) AS first,
    max(CASE WHEN fives.position = 1 THEN commits.committed_offset END) AS second,
    max(CASE WHEN fives.position = 2 THEN commits.committed_offset END) AS third,
    max(CASE WHEN fives.position = 3 THEN commits.committed_offset END) AS fourth,
    max(CASE WHEN fives.position = 4 THEN commits.committed_offset END) AS fifth
  FROM (
    -- A commit that could not be read is -1 here: nothing is known of it, which does not mean that it is gone.
    SELECT
      cluster, snapshot_id, snapshot_date, group_id, topic, partition,
      CASE
        WHEN committed_offset IS NULL AND problem IS NOT NULL AND problem <> 'NO_COMMIT' THEN -1
        ELSE committed_offset
      END AS committed_offset
    FROM committed_offsets
  ) AS commits
  JOIN fives
    ON commits.cluster = fives.cluster
    AND commits.snapshot_id = fives.snapshot_id
    AND commits.snapshot_date = fives.snapshot_date
  GROUP BY
    fives.cluster,
    fives.cluster_id,
    fives.day,
    fives.first_of_five,
    fives.last_place,
    commits.group_id,
    commits.topic,
    commits.partition
),
commits_of_both AS (
  SELECT
    commits.*,
    first_of_five + pairs.number AS place,
    CASE pairs.number WHEN 1 THEN first WHEN 2 THEN second WHEN 3 THEN third ELSE fourth END AS old_commit,
    CASE pairs.number WHEN 1 THEN second WHEN 2 THEN third WHEN 3 THEN fourth ELSE fifth END AS new_commit
  FROM commits_of_five AS commits
  CROSS JOIN (VALUES (1), (2), (3), (4)) AS pairs (number)
  WHERE NOT coalesce(first <= second AND second <= third AND third <= fourth AND fourth <= fifth, FALSE)
)
SELECT
  cluster,
  cluster_id,
  day,
  place,
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
FROM states_of_both
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
  cluster, cluster_id, day, place, 'topics', 'value', 'partition', names.attribute,
  topic, partition, NULL, NULL, TRUE, TRUE,
  CAST(CASE names.attribute WHEN 'high_watermark' THEN previous_high_watermark ELSE previous_log_start_offset END AS STRING),
  CAST(CASE names.attribute WHEN 'high_watermark' THEN high_watermark ELSE log_start_offset END AS STRING)
FROM ends
CROSS JOIN (VALUES ('high_watermark'), ('log_start_offset')) AS names (attribute)
WHERE
  CASE names.attribute
    WHEN 'high_watermark' THEN high_watermark < previous_high_watermark
    ELSE log_start_offset < previous_log_start_offset
  END
UNION ALL
SELECT
  cluster, cluster_id, day, place, 'consumer_groups', 'held', 'group_partition', 'owner',
  topic, partition, group_id, concat('owners ', group_id), old_owner IS NOT NULL, new_owner IS NOT NULL,
  old_owner, new_owner
FROM owners_of_both
WHERE old_owner IS DISTINCT FROM new_owner
UNION ALL
-- A first commit is no difference.
SELECT
  cluster, cluster_id, day, place, 'committed_offsets', 'thing', 'group_partition', 'committed_offset',
  topic, partition, group_id, NULL, TRUE, new_commit IS NOT NULL,
  CAST(old_commit AS STRING), CAST(new_commit AS STRING)
FROM commits_of_both
WHERE place <= last_place AND old_commit >= 0 AND (new_commit IS NULL OR new_commit BETWEEN 0 AND old_commit - 1)
