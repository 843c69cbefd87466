CREATE OR REPLACE VIEW described_entities (
  cluster COMMENT 'Name of the cluster in the configuration.',
  snapshot_id COMMENT 'The published snapshot that describes the entity.',
  snapshot_date COMMENT 'UTC day of the snapshot.',
  table_name COMMENT 'Table with the facts of the entity: configs, log_dirs, quorum, features or consumer_groups.',
  ground COMMENT 'The entity, as topology_facts and partition_differences name it in their column ground.'
)
COMMENT 'Entities whose facts a snapshot has in full: a fact that is missing there does not exist.'
AS
SELECT cluster, snapshot_id, snapshot_date, 'configs' AS table_name, concat(resource_type, ' ', resource_name) AS ground
FROM configs_published
GROUP BY cluster, snapshot_id, snapshot_date, resource_type, resource_name
UNION ALL
-- Configs of groups, of client metrics and of all brokers are listed only while a value is set.
SELECT configs.cluster, configs.snapshot_id, configs.snapshot_date, 'configs', 'configs'
FROM configs_published AS configs
ANTI JOIN collection_failures AS failures
  ON configs.cluster = failures.cluster
  AND configs.snapshot_id = failures.snapshot_id
  AND configs.snapshot_date = failures.snapshot_date
  AND (failures.api = 'ListConfigResources' OR failures.api = 'DescribeConfigs' AND failures.scope_type IN ('config', 'group'))
GROUP BY configs.cluster, configs.snapshot_id, configs.snapshot_date
UNION ALL
SELECT cluster, snapshot_id, snapshot_date, 'log_dirs', concat('log_dirs ', broker_id)
FROM log_dirs_published
GROUP BY cluster, snapshot_id, snapshot_date, broker_id
UNION ALL
SELECT cluster, snapshot_id, snapshot_date, 'quorum', 'quorum'
FROM quorum_published
GROUP BY cluster, snapshot_id, snapshot_date
UNION ALL
SELECT cluster, snapshot_id, snapshot_date, 'features', 'features'
FROM features_published
GROUP BY cluster, snapshot_id, snapshot_date
UNION ALL
-- Owners are unknown while a group rebalances, or if the assignment of a member is unknown.
SELECT groups.cluster, groups.snapshot_id, groups.snapshot_date, 'consumer_groups', concat('owners ', groups.group_id)
FROM consumer_groups_published AS groups
ANTI JOIN group_members_published AS members
  ON groups.cluster = members.cluster
  AND groups.snapshot_id = members.snapshot_id
  AND groups.snapshot_date = members.snapshot_date
  AND groups.group_id = members.group_id
  AND members.problem IS NOT NULL
WHERE groups.state NOT IN ('PreparingRebalance', 'CompletingRebalance')
