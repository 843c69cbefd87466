CREATE OR REPLACE VIEW topology_facts (
  cluster COMMENT 'Name of the cluster in the configuration.',
  snapshot_id COMMENT 'The published snapshot that shows the fact.',
  snapshot_date COMMENT 'UTC day of the snapshot; the tables are partitioned by it.',
  table_name COMMENT 'Table in view table_coverage that decides whether a missing fact means anything.',
  kind COMMENT 'thing: may appear and disappear. value: compared if both snapshots have it. held: a missing value is a value, too.',
  entity_type COMMENT 'The type of the entity: cluster, broker, topic, partition, config, group, member and so on.',
  entity COMMENT 'The entity, for people.',
  attribute COMMENT 'The attribute of the entity; null for the entity itself.',
  value COMMENT 'The value as text; null if there is no value, or if it is secret.',
  source COMMENT 'Where a config is set, as Kafka names it; null for other facts.',
  topic COMMENT 'Name of the topic that the entity belongs to; null if it belongs to none.',
  partition COMMENT 'Partition number; null if it belongs to none.',
  group_id COMMENT 'group.id of the group that the entity belongs to; null if it belongs to none.',
  broker_id COMMENT 'node.id of the broker that the entity belongs to; null if it belongs to none.',
  ground COMMENT 'Entity that both snapshots must have described for the fact to be compared; null if nothing else is needed.'
)
COMMENT 'The facts that topology_changes compares, except for those of partitions (partition_differences): one row per fact and published snapshot.'
AS
SELECT
  cluster, snapshot_id, snapshot_date, 'brokers' AS table_name, 'thing' AS kind, 'broker' AS entity_type,
  CAST(broker_id AS STRING) AS entity, CAST(NULL AS STRING) AS attribute, CAST(NULL AS STRING) AS value,
  CAST(NULL AS STRING) AS source, CAST(NULL AS STRING) AS topic, CAST(NULL AS INT) AS partition,
  CAST(NULL AS STRING) AS group_id, broker_id, CAST(NULL AS STRING) AS ground
FROM brokers_published
UNION ALL
SELECT
  cluster, snapshot_id, snapshot_date, 'brokers', 'value', 'broker', CAST(broker_id AS STRING), names.attribute,
  CASE names.attribute
    WHEN 'host' THEN host
    WHEN 'port' THEN CAST(port AS STRING)
    WHEN 'rack' THEN rack
    ELSE CAST(is_fenced AS STRING)
  END,
  NULL, NULL, NULL, NULL, broker_id, NULL
FROM brokers_published
CROSS JOIN (VALUES ('host'), ('port'), ('rack'), ('is_fenced')) AS names (attribute)
WHERE CASE names.attribute WHEN 'rack' THEN TRUE WHEN 'is_fenced' THEN is_fenced IS NOT NULL ELSE host IS NOT NULL END
UNION ALL
SELECT
  cluster, snapshot_id, snapshot_date, 'brokers', 'value', 'cluster', 'cluster', 'controller_id',
  CAST(broker_id AS STRING), NULL, NULL, NULL, NULL, NULL, NULL
FROM brokers_published
WHERE is_controller
UNION ALL
SELECT
  cluster, snapshot_id, snapshot_date, 'quorum', 'thing', 'voter', CAST(replica_id AS STRING), NULL, NULL,
  NULL, NULL, NULL, NULL, replica_id, 'quorum'
FROM quorum_published
WHERE role IN ('leader', 'voter')
UNION ALL
SELECT
  cluster, snapshot_id, snapshot_date, 'topics', 'thing', 'topic', topic, NULL, topic_id,
  NULL, topic, NULL, NULL, NULL, NULL
FROM topics_published
UNION ALL
SELECT
  cluster, snapshot_id, snapshot_date, 'topics', 'value', 'topic', topic, 'partitions', CAST(partitions AS STRING),
  NULL, topic, NULL, NULL, NULL, NULL
FROM topics_published
WHERE partitions IS NOT NULL
UNION ALL
SELECT
  cluster, snapshot_id, snapshot_date, 'reassignments', 'thing', 'reassignment', concat(topic, '-', partition), NULL,
  concat('adding ', CAST(adding_replicas AS STRING), ', removing ', CAST(removing_replicas AS STRING)),
  NULL, topic, partition, NULL, NULL, NULL
FROM reassignments_published
UNION ALL
SELECT
  cluster, snapshot_id, snapshot_date, 'log_dirs', 'thing', 'log_dir', concat(broker_id, ':', log_dir), NULL, NULL,
  NULL, NULL, NULL, NULL, broker_id, concat('log_dirs ', broker_id)
FROM (SELECT DISTINCT cluster, snapshot_id, snapshot_date, broker_id, log_dir FROM log_dirs_published) AS dirs
UNION ALL
SELECT
  cluster, snapshot_id, snapshot_date, 'log_dirs', 'value', 'log_dir', concat(broker_id, ':', log_dir), names.attribute,
  CASE names.attribute WHEN 'problem' THEN problem ELSE CAST(is_cordoned AS STRING) END,
  NULL, NULL, NULL, NULL, broker_id, NULL
FROM (
  SELECT DISTINCT cluster, snapshot_id, snapshot_date, broker_id, log_dir, problem, is_cordoned FROM log_dirs_published
) AS dirs
CROSS JOIN (VALUES ('problem'), ('is_cordoned')) AS names (attribute)
WHERE names.attribute = 'problem' OR is_cordoned IS NOT NULL
UNION ALL
-- Only configs that are set on the resource itself: a default, or a value of all brokers, would show one change many times.
SELECT
  cluster, snapshot_id, snapshot_date, 'configs', 'thing', 'config', concat(resource_type, ' ', resource_name), name,
  value, source, CASE resource_type WHEN 'topic' THEN resource_name END, NULL,
  CASE resource_type WHEN 'group' THEN resource_name END, NULL,
  CASE resource_type WHEN 'topic' THEN concat('topic ', resource_name) ELSE 'configs' END
FROM configs_published
WHERE CASE
  WHEN resource_type = 'broker' THEN resource_name = '<default>' AND source = 'DYNAMIC_DEFAULT_BROKER_CONFIG'
  WHEN source IS NULL THEN NOT is_default
  ELSE source IN ('TOPIC_CONFIG', 'GROUP_CONFIG', 'CLIENT_METRICS_CONFIG')
END
UNION ALL
SELECT
  cluster, snapshot_id, snapshot_date, 'configs', 'thing', 'config', concat('broker ', resource_name), name,
  synonym.value, synonym.source, NULL, NULL, NULL, CAST(resource_name AS INT), concat('broker ', resource_name)
FROM (
  SELECT cluster, snapshot_id, snapshot_date, resource_name, name, explode(synonyms) AS synonym
  FROM configs_published
  WHERE resource_type = 'broker' AND resource_name <> '<default>'
) AS exploded
WHERE synonym.name = name AND synonym.source IN ('DYNAMIC_BROKER_CONFIG', 'STATIC_BROKER_CONFIG')
UNION ALL
SELECT
  cluster, snapshot_id, snapshot_date, 'features', 'held', 'feature', feature, 'finalized',
  CAST(max(finalized) AS STRING), NULL, NULL, NULL, NULL, NULL, 'features'
FROM features_published
WHERE finalized IS NOT NULL
GROUP BY cluster, snapshot_id, snapshot_date, feature
UNION ALL
SELECT
  cluster, snapshot_id, snapshot_date, 'features', 'value', 'feature', feature, names.attribute,
  CAST(CASE names.attribute WHEN 'lowest' THEN lowest ELSE highest END AS STRING),
  NULL, NULL, NULL, NULL, broker_id, NULL
FROM features_published
CROSS JOIN (VALUES ('lowest'), ('highest')) AS names (attribute)
WHERE highest IS NOT NULL
UNION ALL
SELECT
  cluster, snapshot_id, snapshot_date, 'quotas', 'thing', 'quota',
  concat_ws(
    ' ',
    CASE WHEN quotas_published.user IS NOT NULL THEN concat('user=', {quota_user}) END,
    CASE WHEN client_id IS NOT NULL THEN concat('client_id=', {quota_client_id}) END,
    CASE WHEN ip IS NOT NULL THEN concat('ip=', ip) END
  ),
  name,
  CASE
    -- Larger values are no limit, and no BIGINT.
    WHEN value >= 9.2E18 THEN '9.2E18 or more'
    WHEN value <= -9.2E18 THEN '-9.2E18 or less'
    WHEN value = floor(value) THEN CAST(CAST(value AS BIGINT) AS STRING)
    -- The engines round a double to a decimal in their own ways, so only the fraction is rounded, as a double.
    ELSE CAST(
      CAST(CAST(floor(value) AS BIGINT) AS DECIMAL(28, 6))
      + CAST(floor((value - floor(value)) * 1E6 + 0.5E0) / 1E6 AS DECIMAL(28, 6))
      AS STRING
    )
  END,
  NULL, NULL, NULL, NULL, NULL, NULL
FROM quotas_published
UNION ALL
SELECT
  cluster, snapshot_id, snapshot_date, 'scram_users', 'thing', 'scram_user', scram_users_published.user, mechanism,
  CAST(iterations AS STRING), NULL, NULL, NULL, NULL, NULL, NULL
FROM scram_users_published
WHERE problem IS NULL
UNION ALL
SELECT
  cluster, snapshot_id, snapshot_date, 'delegation_tokens', 'thing', 'delegation_token', token_id, NULL, owner,
  NULL, NULL, NULL, NULL, NULL, NULL
FROM delegation_tokens_published
UNION ALL
SELECT
  cluster, snapshot_id, snapshot_date, 'acls', 'thing', 'acl',
  concat_ws(' ', resource_type, pattern_type, {acl_resource}, {acl_principal}, host, operation, permission), NULL, NULL,
  NULL, NULL, NULL, NULL, NULL, NULL
FROM acls_published
UNION ALL
SELECT
  cluster, snapshot_id, snapshot_date, 'consumer_groups', 'thing', 'group', group_id, NULL, NULL,
  NULL, NULL, NULL, group_id, NULL, NULL
FROM consumer_groups_published
UNION ALL
SELECT
  cluster, snapshot_id, snapshot_date, 'consumer_groups', 'value', 'group', group_id, names.attribute,
  CASE names.attribute WHEN 'state' THEN state WHEN 'group_type' THEN group_type ELSE protocol END,
  NULL, NULL, NULL, group_id, NULL, NULL
FROM (
  SELECT *, explode(split('state group_type protocol', ' ')) AS attribute
  FROM consumer_groups_published
  WHERE problem IS NULL OR problem = 'MEMBER_PROTOCOL_UNREADABLE'
) AS names
WHERE
  CASE names.attribute WHEN 'state' THEN state WHEN 'group_type' THEN group_type ELSE nullif(protocol, '') END
    IS NOT NULL
UNION ALL
SELECT
  cluster, snapshot_id, snapshot_date, 'consumer_groups', 'thing', 'member', coalesce(group_instance_id, member_id),
  NULL, member_id, NULL, NULL, NULL, group_id, NULL, NULL
FROM group_members_published
UNION ALL
SELECT
  cluster, snapshot_id, snapshot_date, 'consumer_groups', 'value', 'member', coalesce(group_instance_id, member_id),
  names.attribute,
  CASE names.attribute
    WHEN 'client_id' THEN client_id
    WHEN 'client_host' THEN client_host
    -- Names of topics may be any text in a subscription, and the engines quote texts in lists in their own ways.
    ELSE concat('[', array_join(array_sort(subscribed_topics), ', '), ']')
  END,
  NULL, NULL, NULL, group_id, NULL, NULL
FROM (
  SELECT *, explode(split('client_id client_host subscribed_topics', ' ')) AS attribute FROM group_members_published
) AS names
WHERE names.attribute <> 'subscribed_topics' OR subscribed_topics IS NOT NULL
