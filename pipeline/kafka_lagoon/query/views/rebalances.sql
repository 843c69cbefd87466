CREATE OR REPLACE VIEW rebalances (
  cluster COMMENT 'Name of the cluster in the configuration.',
  cluster_id COMMENT 'Id of the cluster in Kafka; null if no broker returned it.',
  snapshot_id COMMENT 'The snapshot that the row is about.',
  snapshot_date COMMENT 'UTC day of captured_at.',
  captured_at COMMENT 'When the snapshot began to read the cluster.',
  previous_snapshot_id COMMENT 'The previous published snapshot of the cluster: the rebalance happened between the two, or is under way.',
  previous_captured_at COMMENT 'When that snapshot began.',
  group_id COMMENT 'group.id of the group; it can be any text, so escape it in output.',
  group_type COMMENT 'classic, consumer (KIP-848), share or streams; null if the brokers do not return it.',
  state COMMENT 'State of the group as Kafka spells it.',
  previous_state COMMENT 'Its state in the previous snapshot.',
  evidence COMMENT 'The first that applies. group_epoch: the group has another epoch (KIP-848), so there is another target assignment. members: members joined or left. assignments: partitions have other owners; with the same epoch the members still move to its target. state: it is rebalancing now.',
  group_epoch COMMENT 'Epoch of the group; null for classic groups.',
  epochs COMMENT 'Epochs since the previous snapshot, one per target assignment; negative if the group was deleted and created again. Null if it had or has no epoch: several rebalances of a classic group between two snapshots look like a single one.',
  members COMMENT 'Number of members.',
  members_joined COMMENT 'Members that have joined, sorted: group.instance.id of static members, otherwise the member id. Null if there are none.',
  members_left COMMENT 'Members that have left, named in the same way. Null if there are none.',
  partitions_gained COMMENT 'Partitions that have an owner and had none; null if an assignment is unknown, as while a classic group rebalances.',
  partitions_lost COMMENT 'Partitions that had an owner and have none; null if partitions_gained is null.',
  partitions_moved COMMENT 'Partitions whose owner, or owners in a share group, changed; null if partitions_gained is null.'
)
COMMENT 'Groups that rebalanced between two published snapshots of a cluster, and the changes: one row per group and snapshot, none if nothing changed. A static member that restarts has neither left nor joined. Groups that exist in only one of the two snapshots are not counted as rebalanced; a group that could not be described in one of them has no row, and is not compared with an earlier snapshot.'
AS
WITH sides AS (
  SELECT cluster, snapshot_id, snapshot_date, snapshot_id AS seen_id, snapshot_date AS seen_date, 1 AS now
  FROM consecutive_snapshots
  WHERE previous_snapshot_id IS NOT NULL
  UNION ALL
  SELECT cluster, snapshot_id, snapshot_date, previous_snapshot_id AS seen_id, previous_snapshot_date AS seen_date, 0 AS now
  FROM consecutive_snapshots
  WHERE previous_snapshot_id IS NOT NULL
),
members_seen AS (
  SELECT
    sides.*,
    group_members.group_id,
    coalesce(group_members.group_instance_id, group_members.member_id) AS member,
    group_members.assignment
  FROM sides
  JOIN group_members
    ON group_members.cluster = sides.cluster
    AND group_members.snapshot_id = sides.seen_id
    AND group_members.snapshot_date = sides.seen_date
),
each_member AS (
  SELECT
    cluster,
    snapshot_id,
    snapshot_date,
    group_id,
    member,
    min(now) AS first_side,
    max(now) AS last_side,
    count(CASE WHEN assignment IS NULL THEN 1 END) AS unknown_assignments
  FROM members_seen
  GROUP BY cluster, snapshot_id, snapshot_date, group_id, member
),
membership AS (
  SELECT
    cluster,
    snapshot_id,
    snapshot_date,
    group_id,
    sum(unknown_assignments) AS unknown_assignments,
    count(CASE WHEN first_side = last_side THEN 1 END) AS changes,
    CASE WHEN max(first_side) = 1 THEN array_sort(array_agg(member) FILTER (WHERE first_side = 1)) END AS joined,
    CASE WHEN min(last_side) = 0 THEN array_sort(array_agg(member) FILTER (WHERE last_side = 0)) END AS gone
  FROM each_member
  GROUP BY cluster, snapshot_id, snapshot_date, group_id
),
assigned_topics AS (
  SELECT cluster, snapshot_id, snapshot_date, group_id, member, now, explode(assignment) AS assigned FROM members_seen
),
assigned_partitions AS (
  SELECT
    cluster,
    snapshot_id,
    snapshot_date,
    group_id,
    member,
    now,
    coalesce(assigned.topic, assigned.topic_id) AS topic,
    explode(assigned.partitions) AS partition
  FROM assigned_topics
),
each_owner AS (
  SELECT
    cluster,
    snapshot_id,
    snapshot_date,
    group_id,
    topic,
    partition,
    member,
    min(now) AS first_side,
    max(now) AS last_side
  FROM assigned_partitions
  GROUP BY cluster, snapshot_id, snapshot_date, group_id, topic, partition, member
),
each_partition AS (
  SELECT
    cluster,
    snapshot_id,
    snapshot_date,
    group_id,
    topic,
    partition,
    min(first_side) AS first_side,
    max(last_side) AS last_side,
    count(CASE WHEN first_side = last_side THEN 1 END) AS changes
  FROM each_owner
  GROUP BY cluster, snapshot_id, snapshot_date, group_id, topic, partition
),
ownership AS (
  SELECT
    cluster,
    snapshot_id,
    snapshot_date,
    group_id,
    count(CASE WHEN first_side = 1 THEN 1 END) AS gained,
    count(CASE WHEN last_side = 0 THEN 1 END) AS lost,
    count(CASE WHEN first_side = 0 AND last_side = 1 AND changes > 0 THEN 1 END) AS moved
  FROM each_partition
  GROUP BY cluster, snapshot_id, snapshot_date, group_id
),
compared AS (
  SELECT
    this.cluster,
    this.cluster_id,
    this.snapshot_id,
    this.snapshot_date,
    this.captured_at,
    pair.previous_snapshot_id,
    pair.previous_captured_at,
    this.group_id,
    this.group_type,
    this.state,
    earlier.state AS previous_state,
    this.group_epoch,
    this.group_epoch - earlier.group_epoch AS epochs,
    this.members,
    membership.joined AS members_joined,
    membership.gone AS members_left,
    coalesce(membership.changes, 0) AS member_changes,
    -- A group without members in both snapshots has no row in membership: it is known that no partition has an owner.
    CASE WHEN coalesce(membership.unknown_assignments, 0) = 0 THEN coalesce(ownership.gained, 0) END AS partitions_gained,
    CASE WHEN coalesce(membership.unknown_assignments, 0) = 0 THEN coalesce(ownership.lost, 0) END AS partitions_lost,
    CASE WHEN coalesce(membership.unknown_assignments, 0) = 0 THEN coalesce(ownership.moved, 0) END AS partitions_moved
  FROM consumer_groups AS this
  JOIN consecutive_snapshots AS pair
    ON pair.cluster = this.cluster
    AND pair.snapshot_id = this.snapshot_id
    AND pair.snapshot_date = this.snapshot_date
  JOIN consumer_groups AS earlier
    ON earlier.cluster = pair.cluster
    AND earlier.snapshot_id = pair.previous_snapshot_id
    AND earlier.snapshot_date = pair.previous_snapshot_date
    AND earlier.group_id = this.group_id
  LEFT JOIN membership
    ON membership.cluster = this.cluster
    AND membership.snapshot_id = this.snapshot_id
    AND membership.snapshot_date = this.snapshot_date
    AND membership.group_id = this.group_id
  LEFT JOIN ownership
    ON ownership.cluster = this.cluster
    AND ownership.snapshot_id = this.snapshot_id
    AND ownership.snapshot_date = this.snapshot_date
    AND ownership.group_id = this.group_id
  -- The members of a group that could not be described are unknown, which does not mean that they have left.
  WHERE this.members IS NOT NULL AND earlier.members IS NOT NULL
),
judged AS (
  SELECT
    compared.*,
    CASE
      WHEN epochs <> 0 THEN 'group_epoch'
      WHEN member_changes > 0 THEN 'members'
      WHEN partitions_gained + partitions_lost + partitions_moved > 0 THEN 'assignments'
      WHEN state IN ('PreparingRebalance', 'CompletingRebalance', 'Assigning', 'Reconciling') THEN 'state'
    END AS evidence
  FROM compared
)
SELECT
  cluster,
  cluster_id,
  snapshot_id,
  snapshot_date,
  captured_at,
  previous_snapshot_id,
  previous_captured_at,
  group_id,
  group_type,
  state,
  previous_state,
  evidence,
  group_epoch,
  epochs,
  members,
  members_joined,
  members_left,
  partitions_gained,
  partitions_lost,
  partitions_moved
FROM judged
WHERE evidence IS NOT NULL
