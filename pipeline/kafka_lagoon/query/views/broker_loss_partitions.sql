CREATE OR REPLACE VIEW broker_loss_partitions (
  cluster COMMENT 'Name of the cluster in the configuration.',
  cluster_id COMMENT 'Id of the cluster in Kafka; null if no broker returned it.',
  snapshot_id COMMENT 'The published snapshot that the row is computed from.',
  snapshot_date COMMENT 'UTC day of captured_at.',
  captured_at COMMENT 'When the snapshot began to read the cluster.',
  loss COMMENT 'Unit that stops: broker, or rack (all of its brokers).',
  lost COMMENT 'node.id of the broker, or name of the rack.',
  topic COMMENT 'Name of the topic.',
  topic_id COMMENT 'Id of the topic; null if the brokers return none.',
  partition COMMENT 'Partition number.',
  leader_id COMMENT 'Broker that leads the partition now; null if there is none.',
  new_leader_id COMMENT 'Broker that will lead it: the present leader, or the first replica in sync, or an eligible replica if none is in sync; null if no replica can lead.',
  in_sync COMMENT 'How many replicas will be in sync; without eligible leaders (KIP-966) the last replica stays in the list although it is down.',
  min_insync_replicas COMMENT 'min.insync.replicas of the topic; null if the configs of the topic are not known.',
  is_offline COMMENT 'True if it will have no leader (kafka-topics --unavailable-partitions).',
  is_under_min_isr COMMENT 'True if it will have no leader, or fewer replicas in sync than it needs: min_insync_replicas, or all of its replicas if they are fewer (brokers before Kafka 3.7 then refuse writes with acks=all also now); null if min_insync_replicas is null and it will have a leader.',
  is_at_min_isr COMMENT 'True if it will have a leader and exactly as many replicas in sync as it needs; null if min_insync_replicas is null and it will have a leader.',
  was_offline COMMENT 'is_offline as it is now.',
  was_under_min_isr COMMENT 'is_under_min_isr as it is now.',
  was_at_min_isr COMMENT 'is_at_min_isr as it is now.'
)
COMMENT 'The effect on each partition if a broker that has a replica of it, or its whole rack, stops, with unclean elections off: one row per broker that is not fenced, or rack with such a broker, partition and published snapshot.'
AS
WITH up AS (
  SELECT cluster, snapshot_id, snapshot_date, broker_id, rack FROM brokers_published WHERE is_fenced IS NOT TRUE
),
losses AS (
  SELECT
    cluster,
    snapshot_id,
    snapshot_date,
    'broker' AS loss,
    CAST(broker_id AS STRING) AS lost,
    array_agg(broker_id) AS lost_ids
  FROM up
  GROUP BY cluster, snapshot_id, snapshot_date, broker_id
  UNION ALL
  SELECT cluster, snapshot_id, snapshot_date, 'rack', rack, array_agg(broker_id)
  FROM up
  WHERE rack IS NOT NULL
  GROUP BY cluster, snapshot_id, snapshot_date, rack
),
needed AS (
  SELECT cluster, snapshot_id, snapshot_date, resource_name AS topic, CAST(value AS INT) AS min_insync_replicas
  FROM configs_published
  WHERE resource_type = 'topic' AND name = 'min.insync.replicas'
),
hit AS (
  SELECT
    partitions.*,
    losses.loss,
    losses.lost,
    losses.lost_ids,
    CAST(cardinality(partitions.isr) - cardinality(array_intersect(partitions.isr, losses.lost_ids)) AS INT) AS isr_left,
    coalesce(array_contains(losses.lost_ids, partitions.leader_id), FALSE) AS loses_leader
  FROM partitions_published AS partitions
  JOIN losses
    ON partitions.cluster = losses.cluster
    AND partitions.snapshot_id = losses.snapshot_id
    AND partitions.snapshot_date = losses.snapshot_date
    AND cardinality(array_intersect(partitions.replicas, losses.lost_ids)) > 0
),
elected AS (
  SELECT
    hit.cluster,
    hit.snapshot_id,
    hit.snapshot_date,
    hit.topic,
    hit.partition,
    hit.loss,
    hit.lost,
    min_by(up.broker_id, array_position(hit.replicas, up.broker_id)) AS leader_id
  FROM hit
  JOIN up
    ON hit.cluster = up.cluster
    AND hit.snapshot_id = up.snapshot_id
    AND hit.snapshot_date = up.snapshot_date
    AND array_contains(hit.replicas, up.broker_id)
    AND NOT array_contains(hit.lost_ids, up.broker_id)
    AND array_contains(CASE WHEN hit.isr_left > 0 THEN hit.isr ELSE hit.eligible_leader_replicas END, up.broker_id)
  WHERE hit.loses_leader
  GROUP BY hit.cluster, hit.snapshot_id, hit.snapshot_date, hit.topic, hit.partition, hit.loss, hit.lost
),
after_loss AS (
  SELECT
    hit.*,
    needed.min_insync_replicas,
    -- Brokers need no more replicas in sync than there are (since Kafka 3.7).
    CASE
      WHEN needed.min_insync_replicas > cardinality(hit.replicas) THEN CAST(cardinality(hit.replicas) AS INT)
      ELSE needed.min_insync_replicas
    END AS least_in_sync,
    CASE WHEN hit.loses_leader THEN elected.leader_id ELSE hit.leader_id END AS new_leader_id,
    CASE
      WHEN hit.isr_left > 0 THEN hit.isr_left
      WHEN hit.eligible_leader_replicas IS NULL OR elected.leader_id IS NOT NULL THEN 1
      ELSE 0
    END AS in_sync
  FROM hit
  LEFT JOIN elected
    ON hit.cluster = elected.cluster
    AND hit.snapshot_id = elected.snapshot_id
    AND hit.snapshot_date = elected.snapshot_date
    AND hit.topic = elected.topic
    AND hit.partition = elected.partition
    AND hit.loss = elected.loss
    AND hit.lost = elected.lost
  LEFT JOIN needed
    ON hit.cluster = needed.cluster
    AND hit.snapshot_id = needed.snapshot_id
    AND hit.snapshot_date = needed.snapshot_date
    AND hit.topic = needed.topic
)
SELECT
  cluster,
  cluster_id,
  snapshot_id,
  snapshot_date,
  captured_at,
  loss,
  lost,
  topic,
  topic_id,
  partition,
  leader_id,
  new_leader_id,
  in_sync,
  min_insync_replicas,
  new_leader_id IS NULL AS is_offline,
  new_leader_id IS NULL OR in_sync < least_in_sync AS is_under_min_isr,
  new_leader_id IS NOT NULL AND in_sync = least_in_sync AS is_at_min_isr,
  leader_id IS NULL AS was_offline,
  leader_id IS NULL OR cardinality(isr) < least_in_sync AS was_under_min_isr,
  leader_id IS NOT NULL AND cardinality(isr) = least_in_sync AS was_at_min_isr
FROM after_loss
