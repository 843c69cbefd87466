CREATE OR REPLACE VIEW broker_loss (
  cluster COMMENT 'Name of the cluster in the configuration.',
  cluster_id COMMENT 'Id of the cluster in Kafka; null if no broker returned it.',
  snapshot_id COMMENT 'The published snapshot that the row is computed from.',
  snapshot_date COMMENT 'UTC day of captured_at.',
  captured_at COMMENT 'When the snapshot began to read the cluster.',
  loss COMMENT 'Unit that stops: broker, or rack (all of its brokers).',
  lost COMMENT 'node.id of the broker, or name of the rack.',
  brokers COMMENT 'Brokers that stop, without brokers that are already fenced.',
  partitions COMMENT 'Partitions with a replica there.',
  leaders_moved COMMENT 'Partitions that will have another leader.',
  offline_partitions COMMENT 'Partitions that have a leader now and will have none.',
  under_min_isr_partitions COMMENT 'Partitions that will have no leader or fewer replicas in sync than they need, and now have enough: writes with acks=all fail.',
  at_min_isr_partitions COMMENT 'Partitions that will have a leader and exactly as many replicas in sync as they need, and now have more: the next loss stops writes.',
  unknown_partitions COMMENT 'Partitions that will have a leader and whose topic has an unknown min.insync.replicas; the last two counts leave them out.',
  groups COMMENT 'Groups in the snapshot that these brokers coordinate, and that will need another coordinator.',
  is_controller_lost COMMENT 'True if another controller must be elected; null if the active controller is unknown.',
  is_quorum_lost COMMENT 'True if too few voters are left to elect a controller, provided that all others run, among them controllers that are no brokers; null if the quorum is unknown, or under ZooKeeper.'
)
COMMENT 'The effect if a broker, or a whole rack, stops, with unclean elections off: one row per broker that is not fenced, or rack with such a broker, and published snapshot. Counts are about the partitions and groups that the snapshot has (table_coverage says whether these are all). View broker_loss_partitions lists the partitions.'
AS
WITH up AS (
  SELECT cluster, cluster_id, snapshot_id, snapshot_date, captured_at, 'broker' AS loss, CAST(broker_id AS STRING) AS lost,
    broker_id, is_controller
  FROM brokers_published
  WHERE is_fenced IS NOT TRUE
  UNION ALL
  SELECT cluster, cluster_id, snapshot_id, snapshot_date, captured_at, 'rack', rack, broker_id, is_controller
  FROM brokers_published
  WHERE is_fenced IS NOT TRUE AND rack IS NOT NULL
),
coordinated AS (
  SELECT cluster, snapshot_id, snapshot_date, coordinator_id, count(*) AS groups
  FROM consumer_groups_published
  GROUP BY cluster, snapshot_id, snapshot_date, coordinator_id
),
voters AS (
  SELECT cluster, snapshot_id, snapshot_date, replica_id, count(*) OVER of_snapshot AS voters
  FROM quorum_published
  WHERE role IN ('leader', 'voter')
  WINDOW of_snapshot AS (PARTITION BY cluster, snapshot_id, snapshot_date)
),
quorums AS (
  SELECT cluster, snapshot_id, snapshot_date, max(voters) AS voters
  FROM voters
  GROUP BY cluster, snapshot_id, snapshot_date
),
losses AS (
  SELECT
    up.cluster,
    up.cluster_id,
    up.snapshot_id,
    up.snapshot_date,
    up.captured_at,
    up.loss,
    up.lost,
    count(*) AS brokers,
    coalesce(sum(coordinated.groups), 0) AS groups,
    bool_or(up.is_controller) AS is_controller_lost,
    max(quorums.voters) AS voters,
    count(voters.replica_id) AS lost_voters
  FROM up
  LEFT JOIN coordinated
    ON up.cluster = coordinated.cluster
    AND up.snapshot_id = coordinated.snapshot_id
    AND up.snapshot_date = coordinated.snapshot_date
    AND up.broker_id = coordinated.coordinator_id
  LEFT JOIN voters
    ON up.cluster = voters.cluster
    AND up.snapshot_id = voters.snapshot_id
    AND up.snapshot_date = voters.snapshot_date
    AND up.broker_id = voters.replica_id
  LEFT JOIN quorums
    ON up.cluster = quorums.cluster
    AND up.snapshot_id = quorums.snapshot_id
    AND up.snapshot_date = quorums.snapshot_date
  GROUP BY up.cluster, up.cluster_id, up.snapshot_id, up.snapshot_date, up.captured_at, up.loss, up.lost
),
hit AS (
  SELECT
    cluster,
    snapshot_id,
    snapshot_date,
    loss,
    lost,
    count(*) AS partitions,
    count(CASE WHEN new_leader_id <> leader_id THEN 1 END) AS leaders_moved,
    count(CASE WHEN is_offline AND NOT was_offline THEN 1 END) AS offline_partitions,
    count(CASE WHEN is_under_min_isr AND was_under_min_isr IS NOT TRUE THEN 1 END) AS under_min_isr_partitions,
    count(CASE WHEN is_at_min_isr AND NOT was_at_min_isr THEN 1 END) AS at_min_isr_partitions,
    count(CASE WHEN is_under_min_isr IS NULL THEN 1 END) AS unknown_partitions
  FROM broker_loss_partitions
  GROUP BY cluster, snapshot_id, snapshot_date, loss, lost
)
SELECT
  losses.cluster,
  losses.cluster_id,
  losses.snapshot_id,
  losses.snapshot_date,
  losses.captured_at,
  losses.loss,
  losses.lost,
  losses.brokers,
  coalesce(hit.partitions, 0) AS partitions,
  coalesce(hit.leaders_moved, 0) AS leaders_moved,
  coalesce(hit.offline_partitions, 0) AS offline_partitions,
  coalesce(hit.under_min_isr_partitions, 0) AS under_min_isr_partitions,
  coalesce(hit.at_min_isr_partitions, 0) AS at_min_isr_partitions,
  coalesce(hit.unknown_partitions, 0) AS unknown_partitions,
  CAST(losses.groups AS BIGINT) AS groups,
  losses.is_controller_lost,
  (losses.voters - losses.lost_voters) * 2 <= losses.voters AS is_quorum_lost
FROM losses
LEFT JOIN hit
  ON losses.cluster = hit.cluster
  AND losses.snapshot_id = hit.snapshot_id
  AND losses.snapshot_date = hit.snapshot_date
  AND losses.loss = hit.loss
  AND losses.lost = hit.lost
