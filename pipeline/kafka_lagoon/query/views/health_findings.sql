CREATE OR REPLACE VIEW health_findings (
  cluster COMMENT 'Name of the cluster in the configuration.',
  cluster_id COMMENT 'Id of the cluster in Kafka; null if no broker returned it.',
  snapshot_id COMMENT 'The published snapshot that has the finding.',
  snapshot_date COMMENT 'UTC day of captured_at.',
  captured_at COMMENT 'When the snapshot began to read the cluster.',
  finding COMMENT 'leaderless, offline_replicas, under_min_isr, under_replicated, min_isr_above_replicas, at_min_isr, not_preferred_leader, min_isr_unknown, rack_violation, leader_skew, broker_fenced, no_controller, offline_log_dir, reassignment, stuck_reassignment, hanging_transaction, lagging_voter, config_drift or stopped_group.',
  severity COMMENT 'critical: data cannot be read or written, or may be lost. warning: the next fault may cause that. info: worth knowing.',
  entity_type COMMENT 'The type of the entity: cluster, broker, log_dir, voter, partition, producer, config or group.',
  entity COMMENT 'The entity, for people.',
  topic COMMENT 'Name of the topic; null if the finding is not about a topic.',
  topic_id COMMENT 'Id of the topic; null if the finding is not about a topic, or if the brokers return none.',
  partition COMMENT 'Partition number; null if the finding is not about a partition.',
  broker_id COMMENT 'node.id of the broker or voter; null if the finding is not about a broker or voter.',
  detail COMMENT 'The values behind the finding, for people; null if there are none.',
  since COMMENT 'When the first of the consecutive snapshots with this finding began; snapshots without the table are skipped, and a broker or group that did not answer ends the series. Of stuck_reassignment: when the reassignment was seen first.',
  snapshots COMMENT 'Number of consecutive snapshots that have had it so far.',
  owner COMMENT 'The team that owns the topic or group in table owners; null if nobody owns it, or if the finding is about neither.',
  is_expected COMMENT 'True if the settings expect the group to be stopped at captured_at (table expected_groups); false for all other findings.'
)
COMMENT 'Problems of brokers, partitions, disks, transactions and configs, one row per finding and published snapshot. Lag and lost records of groups, and consumers that stand still, are no findings: see consumer_lag_published, group_status and loss_ahead.'
AS
WITH racks AS (
  SELECT cluster, snapshot_id, snapshot_date, count(DISTINCT rack) AS racks
  FROM brokers_published
  WHERE is_fenced IS NOT TRUE
  GROUP BY cluster, snapshot_id, snapshot_date
),
suspect AS (
  SELECT
    partitions.*,
    -- Replicas should be on as many racks as there are, or on one rack each.
    coalesce(partitions.rack_count < least(cardinality(partitions.replicas), racks.racks), FALSE) AS shares_racks,
    coalesce(cardinality(partitions.offline_replicas) > 0, FALSE) AS has_offline_replicas,
    coalesce(cardinality(partitions.isr) >= cardinality(partitions.replicas), FALSE) AS has_all_in_sync
  FROM partitions_published AS partitions
  LEFT JOIN racks
    ON partitions.cluster = racks.cluster
    AND partitions.snapshot_id = racks.snapshot_id
    AND partitions.snapshot_date = racks.snapshot_date
),
leaders AS (
  SELECT
    brokers.cluster,
    brokers.snapshot_id,
    brokers.snapshot_date,
    brokers.broker_id,
    count(partitions.partition) AS led,
    sum(count(partitions.partition)) OVER of_snapshot AS led_in_all,
    count(*) OVER of_snapshot AS brokers
  FROM brokers_published AS brokers
  LEFT JOIN partitions_published AS partitions
    ON brokers.cluster = partitions.cluster
    AND brokers.snapshot_id = partitions.snapshot_id
    AND brokers.snapshot_date = partitions.snapshot_date
    AND brokers.broker_id = partitions.leader_id
  WHERE brokers.is_fenced IS NOT TRUE
  GROUP BY brokers.cluster, brokers.snapshot_id, brokers.snapshot_date, brokers.broker_id
  WINDOW of_snapshot AS (PARTITION BY brokers.cluster, brokers.snapshot_id, brokers.snapshot_date)
),
found AS (
  SELECT
    suspect.cluster, suspect.snapshot_id, suspect.snapshot_date, 'topics' AS table_name, kinds.finding,
    kinds.severity, 'partition' AS entity_type, concat(suspect.topic, '-', suspect.partition) AS entity,
    suspect.topic, suspect.topic_id, suspect.partition, CAST(NULL AS INT) AS broker_id,
    'leader ' || coalesce(CAST(suspect.leader_id AS STRING), 'none') || ', replicas '
      || CAST(suspect.replicas AS STRING) || ', isr ' || CAST(array_sort(suspect.isr) AS STRING) AS detail,
    coalesce(suspect.topic_id, '') AS identity
  FROM suspect
  CROSS JOIN (VALUES
    ('leaderless', 'critical'),
    ('offline_replicas', 'warning'),
    ('under_min_isr', 'critical'),
    ('under_replicated', 'warning'),
    ('min_isr_above_replicas', 'warning'),
    ('at_min_isr', 'warning'),
    ('not_preferred_leader', 'info'),
    ('min_isr_unknown', 'info'),
    ('rack_violation', 'warning')
  ) AS kinds (finding, severity)
  WHERE
    (
      suspect.is_under_replicated
      OR suspect.is_leaderless
      OR suspect.is_preferred_leader IS NOT TRUE
      OR suspect.is_under_min_isr IS NOT FALSE
      OR suspect.is_at_min_isr
      OR suspect.has_offline_replicas
      OR suspect.shares_racks
    )
    AND CASE kinds.finding
      WHEN 'leaderless' THEN suspect.is_leaderless
      WHEN 'offline_replicas' THEN suspect.has_offline_replicas
      -- Brokers need no more replicas in sync than there are (since Kafka 3.7).
      WHEN 'under_min_isr' THEN suspect.is_under_min_isr AND NOT suspect.has_all_in_sync
      WHEN 'min_isr_above_replicas' THEN suspect.is_under_min_isr AND suspect.has_all_in_sync
      WHEN 'under_replicated' THEN suspect.is_under_replicated
      WHEN 'at_min_isr' THEN suspect.is_at_min_isr
      WHEN 'not_preferred_leader' THEN NOT suspect.is_preferred_leader
      WHEN 'min_isr_unknown' THEN suspect.is_under_min_isr IS NULL
      ELSE suspect.shares_racks
    END
  UNION ALL
  -- A broker that leads a fifth more than its even share, and at least two partitions more.
  SELECT
    cluster, snapshot_id, snapshot_date, 'topics', 'leader_skew', 'info', 'broker', CAST(broker_id AS STRING),
    NULL, NULL, NULL, broker_id,
    concat('leads ', led, ' of ', CAST(led_in_all AS BIGINT), ' partitions, one of ', brokers, ' brokers'), ''
  FROM leaders
  WHERE led * brokers * 5 > led_in_all * 6 AND (led - 2) * brokers >= led_in_all
  UNION ALL
  SELECT
    cluster, snapshot_id, snapshot_date, 'brokers', 'broker_fenced', 'warning', 'broker', CAST(broker_id AS STRING),
    NULL, NULL, NULL, broker_id, NULL, ''
  FROM brokers_published
  WHERE is_fenced
  UNION ALL
  SELECT DISTINCT
    cluster, snapshot_id, snapshot_date, 'topics', 'no_controller', 'critical', 'cluster', 'cluster',
    CAST(NULL AS STRING), CAST(NULL AS STRING), CAST(NULL AS INT), CAST(NULL AS INT), CAST(NULL AS STRING), ''
  FROM brokers_published
  WHERE problem = 'NO_CONTROLLER'
  UNION ALL
  SELECT DISTINCT
    cluster, snapshot_id, snapshot_date, 'log_dirs', 'offline_log_dir', 'critical', 'log_dir',
    concat(broker_id, ':', log_dir), CAST(NULL AS STRING), CAST(NULL AS STRING), CAST(NULL AS INT), broker_id, problem,
    ''
  FROM log_dirs_published
  WHERE problem IS NOT NULL
  UNION ALL
  SELECT
    cluster, snapshot_id, snapshot_date, 'reassignments', 'reassignment', 'info', 'partition',
    concat(topic, '-', partition), topic, topic_id, partition, NULL,
    'adding ' || CAST(adding_replicas AS STRING) || ', removing ' || CAST(removing_replicas AS STRING),
    coalesce(topic_id, '') || CAST(adding_replicas AS STRING) || CAST(removing_replicas AS STRING)
  FROM reassignments_published
  UNION ALL
  SELECT
    cluster, snapshot_id, snapshot_date, 'producers', 'hanging_transaction', 'critical', 'producer',
    concat(topic, '-', partition, ' producer ', producer_id), topic, topic_id, partition, NULL,
    evidence || ', open since offset ' || coalesce(CAST(open_since_offset AS STRING), 'unknown'),
    coalesce(topic_id, '') || coalesce(CAST(open_since_offset AS STRING), '')
  FROM producers_published
  WHERE is_hanging
  UNION ALL
  -- Both times are of the leader's clock; a voter that has not caught up since the leader was elected has none.
  SELECT
    voters.cluster, voters.snapshot_id, voters.snapshot_date, 'quorum', 'lagging_voter', 'warning', 'voter',
    CAST(voters.replica_id AS STRING), NULL, NULL, NULL, voters.replica_id,
    'lag ' || coalesce(CAST(voters.lag AS STRING), 'unknown') || ' offsets, '
      || coalesce(
        CAST(unix_millis(leader.last_caught_up_at) - unix_millis(voters.last_caught_up_at) AS STRING), 'unknown'
      ) || ' ms',
    ''
  FROM quorum_published AS voters
  JOIN quorum_published AS leader
    ON voters.cluster = leader.cluster
    AND voters.snapshot_id = leader.snapshot_id
    AND voters.snapshot_date = leader.snapshot_date
    AND leader.role = 'leader'
    AND leader.last_caught_up_at IS NOT NULL
  WHERE
    voters.role = 'voter'
    AND coalesce(unix_millis(leader.last_caught_up_at) - unix_millis(voters.last_caught_up_at) > 10000, TRUE)
  UNION ALL
  -- Configs that should differ between brokers are left out: ids, addresses, racks, folders and key stores.
  SELECT
    cluster, snapshot_id, snapshot_date, 'configs', 'config_drift', 'warning', 'config', concat('broker ', name),
    NULL, NULL, NULL, NULL,
    concat_ws(', ', array_sort(array_agg(concat(resource_name, '=', coalesce(value, 'none'))))), ''
  FROM configs_published
  WHERE
    resource_type = 'broker'
    AND resource_name <> '<default>'
    AND NOT is_sensitive
    AND name NOT IN (
      'node.id', 'broker.id', 'broker.rack', 'process.roles', 'listeners', 'early.start.listeners', 'host.name', 'port',
      'log.dir', 'log.dirs', 'metadata.log.dir', 'cordoned.log.dirs'
    )
    AND name NOT LIKE 'advertised.%'
    AND name NOT LIKE '%ssl.keystore.%'
  GROUP BY cluster, snapshot_id, snapshot_date, name
  HAVING count(DISTINCT coalesce('=' || value, '')) > 1
  UNION ALL
  -- Kafka keeps groups that nobody uses any more, so only those that the settings [expected] name count. A group
  -- that should run, and was expected to be stopped before, has another finding than before.
  SELECT
    expected.cluster, expected.snapshot_id, expected.snapshot_date, 'consumer_groups', 'stopped_group',
    CASE WHEN expected.should_run THEN 'warning' ELSE 'info' END, 'group', expected.group_id,
    NULL, NULL, NULL, NULL,
    concat_ws(
      ', ', concat(CAST({sum_of_lag_behind} AS STRING), ' unread records'), concat('hours ', expected.hours),
      expected.reason
    ),
    CASE WHEN expected.should_run THEN '' ELSE 'expected' END
  FROM expected_groups_published AS expected
  JOIN consumer_groups_published AS groups
    ON expected.cluster = groups.cluster
    AND expected.snapshot_id = groups.snapshot_id
    AND expected.snapshot_date = groups.snapshot_date
    AND expected.group_id = groups.group_id
    AND groups.members = 0
  JOIN consumer_lag_published AS behind
    ON expected.cluster = behind.cluster
    AND expected.snapshot_id = behind.snapshot_id
    AND expected.snapshot_date = behind.snapshot_date
    AND expected.group_id = behind.group_id
    AND behind.lag > 0
  GROUP BY
    expected.cluster, expected.snapshot_id, expected.snapshot_date, expected.group_id, expected.should_run, expected.hours,
    expected.reason
),
-- The findings of an incomplete table count, and a finding that it lacks may go on: it comes after as many complete ones.
steps AS (
  SELECT
    cluster,
    cluster_id,
    snapshot_id,
    snapshot_date,
    captured_at,
    table_name,
    place,
    coalesce(
      max(place) OVER (PARTITION BY cluster, cluster_id, table_name ORDER BY captured_at, snapshot_id), 0
    ) AS complete_so_far
  FROM table_coverage
),
placed AS (
  SELECT
    found.*,
    steps.cluster_id,
    steps.captured_at,
    steps.complete_so_far - count(steps.place) OVER (
      PARTITION BY
        found.cluster,
        steps.cluster_id,
        found.finding,
        found.entity_type,
        found.entity,
        found.identity
      ORDER BY steps.captured_at, found.snapshot_id
    ) AS episode
  FROM found
  JOIN steps
    ON found.cluster = steps.cluster
    AND found.snapshot_id = steps.snapshot_id
    AND found.snapshot_date = steps.snapshot_date
    AND found.table_name = steps.table_name
),
dated AS (
  SELECT
    placed.*,
    min(captured_at) OVER so_far AS since,
    count(*) OVER so_far AS snapshots
  FROM placed
  WINDOW so_far AS (
    PARTITION BY cluster, cluster_id, finding, entity_type, entity, identity, episode
    ORDER BY captured_at, snapshot_id
    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
  )
)
SELECT
  dated.cluster,
  dated.cluster_id,
  dated.snapshot_id,
  dated.snapshot_date,
  dated.captured_at,
  -- The progress of a reassignment is unknown, so it counts as stuck after an hour without an end or a new target.
  CASE
    WHEN dated.finding = 'reassignment' AND dated.captured_at >= dated.since + INTERVAL '1' HOUR THEN 'stuck_reassignment'
    ELSE dated.finding
  END AS finding,
  CASE
    WHEN dated.finding = 'reassignment' AND dated.captured_at >= dated.since + INTERVAL '1' HOUR THEN 'warning'
    ELSE dated.severity
  END AS severity,
  dated.entity_type,
  dated.entity,
  dated.topic,
  dated.topic_id,
  dated.partition,
  dated.broker_id,
  dated.detail,
  dated.since,
  dated.snapshots,
  owners.owner,
  dated.finding = 'stopped_group' AND dated.identity = 'expected' AS is_expected
FROM dated
LEFT JOIN owners_published AS owners
  ON dated.cluster = owners.cluster
  AND dated.snapshot_id = owners.snapshot_id
  AND dated.snapshot_date = owners.snapshot_date
  AND CASE WHEN dated.topic IS NULL THEN dated.entity_type ELSE 'topic' END = owners.entity_type
  AND coalesce(dated.topic, dated.entity) = owners.name
