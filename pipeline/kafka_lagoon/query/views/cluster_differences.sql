CREATE OR REPLACE VIEW cluster_differences (
  cluster COMMENT 'Name of a cluster in the configuration. Each pair of clusters is shown from both sides.',
  snapshot_id COMMENT 'Its latest published snapshot.',
  snapshot_date COMMENT 'UTC day of captured_at.',
  captured_at COMMENT 'When that snapshot began to read the cluster.',
  other_cluster COMMENT 'Name of the cluster that it is compared with.',
  other_snapshot_id COMMENT 'The latest published snapshot of the other cluster.',
  other_captured_at COMMENT 'When that snapshot began.',
  difference COMMENT 'only_here, only_there (in the other cluster), different, or unknown: it is not known for one of the clusters.',
  entity_type COMMENT 'Type of the entity: topic, config, acl, quota, scram_user, feature or group.',
  entity COMMENT 'The topic, group, ACL or resource, for people. `brokers` has the configs that all brokers of a cluster that answered set alike, in one of the two clusters or in both. Null if all entities of the type are unknown.',
  attribute COMMENT 'partitions or replication_factor of a topic, group_type of a group, the name of a config or quota, the mechanism of a SCRAM user; null for the entity as a whole.',
  value COMMENT 'The value in the cluster; broker=value, ... where its brokers set the config differently or not all; null if there is none, if it is secret, or if problem is set.',
  other_value COMMENT 'The value in the other cluster, as in value; null if there is none, if it is secret, or if other_problem is set.',
  source COMMENT 'Where a config is set, as Kafka names it, e.g. TOPIC_CONFIG; null for other entities.',
  topic COMMENT 'Name of the topic; null if the difference is not about a topic.',
  group_id COMMENT 'group.id; null if the difference is not about a group.',
  is_proven COMMENT 'False if the difference is unknown, and for a topic or group that is missing in a list which may be incomplete.',
  problem COMMENT 'Why it is unknown for the cluster: as in table_coverage, NOT_ASKED (the table has no outcome in the snapshot), or NOT_DESCRIBED (a broker did not return it). Null if it is known.',
  other_problem COMMENT 'Why it is unknown for the other cluster. Null if it is known.'
)
COMMENT 'Differences of the latest published snapshots of two clusters: topics, the configs that are set, ACLs, quotas, SCRAM users, features and groups. Of a topic that only one cluster has, the configs are not listed. Topic ids, brokers, offsets and members differ by nature, and are not compared; nor are configs with the ids, addresses, racks, folders and key stores of brokers.'
AS
WITH latest AS (
  SELECT cluster, snapshot_id, snapshot_date, captured_at FROM snapshots_now
),
pairs AS (
  SELECT
    here.cluster,
    here.snapshot_id,
    here.snapshot_date,
    here.captured_at,
    there.cluster AS other_cluster,
    there.snapshot_id AS other_snapshot_id,
    there.captured_at AS other_captured_at
  FROM latest AS here
  JOIN latest AS there ON here.cluster <> there.cluster
),
sides AS (
  SELECT cluster, other_cluster, cluster AS side, TRUE AS is_here FROM pairs
  UNION ALL
  SELECT cluster, other_cluster, other_cluster, FALSE FROM pairs
),
latest_facts AS (
  SELECT facts.*
  FROM topology_facts AS facts
  JOIN latest
    ON facts.cluster = latest.cluster
    AND facts.snapshot_id = latest.snapshot_id
    AND facts.snapshot_date = latest.snapshot_date
  WHERE
    facts.table_name IN ('topics', 'configs', 'acls', 'quotas', 'scram_users', 'features', 'consumer_groups')
    AND facts.entity_type <> 'member'
    AND coalesce(facts.attribute NOT IN ('state', 'protocol'), TRUE)
),
brokers AS (
  SELECT cluster, count(DISTINCT broker_id) AS brokers
  FROM latest_facts
  WHERE entity_type = 'config' AND broker_id IS NOT NULL
  GROUP BY cluster
),
running AS (
  SELECT brokers_published.cluster, count(*) AS brokers
  FROM brokers_published
  JOIN latest
    ON brokers_published.cluster = latest.cluster
    AND brokers_published.snapshot_id = latest.snapshot_id
    AND brokers_published.snapshot_date = latest.snapshot_date
  WHERE brokers_published.is_fenced IS NOT TRUE
  GROUP BY brokers_published.cluster
),
broker_configs AS (
  SELECT
    latest_facts.cluster,
    latest_facts.attribute,
    latest_facts.source,
    count(*) = max(brokers.brokers) AND count(DISTINCT latest_facts.value) = 1 AS is_alike,
    max(latest_facts.value) AS value,
    concat_ws(', ', array_sort(array_agg(concat(latest_facts.broker_id, '=', latest_facts.value)))) AS value_by_broker
  FROM latest_facts
  JOIN brokers ON latest_facts.cluster = brokers.cluster
  WHERE
    latest_facts.entity_type = 'config'
    AND latest_facts.broker_id IS NOT NULL
    AND latest_facts.value IS NOT NULL
    -- Configs that differ between brokers by nature, as in health_findings, and the addresses of a cluster's controllers.
    AND latest_facts.attribute NOT IN (
      'node.id', 'broker.id', 'broker.rack', 'process.roles', 'listeners', 'early.start.listeners', 'host.name', 'port',
      'log.dir', 'log.dirs', 'metadata.log.dir', 'cordoned.log.dirs',
      'controller.quorum.voters', 'controller.quorum.bootstrap.servers', 'zookeeper.connect'
    )
    AND latest_facts.attribute NOT LIKE 'advertised.%'
    AND latest_facts.attribute NOT LIKE '%ssl.keystore.%'
  GROUP BY latest_facts.cluster, latest_facts.attribute, latest_facts.source
),
facts AS (
  SELECT
    cluster, table_name, kind, entity_type, entity, attribute,
    CASE WHEN entity_type <> 'topic' OR attribute IS NOT NULL THEN value END AS value,
    source, topic, group_id, ground, TRUE AS is_alike
  FROM latest_facts
  WHERE broker_id IS NULL
  UNION ALL
  SELECT
    topics.cluster, 'topics', 'value', 'topic', topics.topic, 'replication_factor',
    CAST(topics.replication_factor AS STRING), NULL, topics.topic, NULL, NULL, TRUE
  FROM topics_published AS topics
  JOIN latest
    ON topics.cluster = latest.cluster
    AND topics.snapshot_id = latest.snapshot_id
    AND topics.snapshot_date = latest.snapshot_date
  WHERE topics.replication_factor IS NOT NULL
  UNION ALL
  SELECT
    cluster, 'configs', 'thing', 'config', 'brokers', attribute,
    CASE WHEN is_alike THEN value ELSE value_by_broker END, source, NULL, NULL, 'brokers', is_alike
  FROM broker_configs
),
compared AS (
  SELECT
    sides.cluster,
    sides.other_cluster,
    facts.table_name,
    facts.kind,
    facts.entity_type,
    facts.entity,
    facts.attribute,
    facts.source,
    facts.topic,
    facts.group_id,
    facts.ground,
    bool_or(sides.is_here) AS is_here,
    bool_or(NOT sides.is_here) AS is_there,
    bool_or(facts.is_alike) AS is_alike,
    max(CASE WHEN sides.is_here THEN facts.value END) AS value,
    max(CASE WHEN NOT sides.is_here THEN facts.value END) AS other_value
  FROM facts
  JOIN sides ON facts.cluster = sides.side
  GROUP BY
    sides.cluster,
    sides.other_cluster,
    facts.table_name,
    facts.kind,
    facts.entity_type,
    facts.entity,
    facts.attribute,
    facts.source,
    facts.topic,
    facts.group_id,
    facts.ground
),
differing AS (
  SELECT *
  FROM compared
  WHERE
    -- Brokers of two clusters have no pairs: a config that is not alike in either cluster cannot be compared.
    is_alike
    AND CASE kind
      WHEN 'value' THEN is_here AND is_there AND value IS DISTINCT FROM other_value
      WHEN 'held' THEN value IS DISTINCT FROM other_value
      ELSE NOT is_here OR NOT is_there OR value <> other_value
    END
),
same_topics AS (
  SELECT sides.cluster, sides.other_cluster, facts.topic
  FROM facts
  JOIN sides ON facts.cluster = sides.side
  WHERE facts.entity_type = 'topic' AND facts.attribute IS NULL
  GROUP BY sides.cluster, sides.other_cluster, facts.topic
  HAVING count(*) = 2
),
described AS (
  SELECT grounds.cluster, grounds.ground
  FROM described_entities AS grounds
  JOIN latest
    ON grounds.cluster = latest.cluster
    AND grounds.snapshot_id = latest.snapshot_id
    AND grounds.snapshot_date = latest.snapshot_date
  WHERE grounds.table_name IN ('configs', 'features')
  UNION ALL
  -- The configs of `brokers` are known if all brokers that run have answered.
  SELECT brokers.cluster, 'brokers'
  FROM brokers
  LEFT JOIN running ON brokers.cluster = running.cluster
  WHERE brokers.brokers >= coalesce(running.brokers, 0)
),
covered AS (
  SELECT coverage.cluster, coverage.table_name, coverage.visibility, coverage.problem
  FROM table_coverage AS coverage
  JOIN latest
    ON coverage.cluster = latest.cluster
    AND coverage.snapshot_id = latest.snapshot_id
    AND coverage.snapshot_date = latest.snapshot_date
),
covered_pairs AS (
  SELECT
    pairs.*,
    tables.table_name,
    tables.entity_type,
    here.visibility,
    there.visibility AS other_visibility,
    CASE WHEN here.cluster IS NULL THEN 'NOT_ASKED' ELSE here.problem END AS problem,
    CASE WHEN there.cluster IS NULL THEN 'NOT_ASKED' ELSE there.problem END AS other_problem
  FROM pairs
  CROSS JOIN (
    VALUES
      ('topics', 'topic'),
      ('configs', 'config'),
      ('acls', 'acl'),
      ('quotas', 'quota'),
      ('scram_users', 'scram_user'),
      ('features', 'feature'),
      ('consumer_groups', 'group')
  ) AS tables (table_name, entity_type)
  LEFT JOIN covered AS here ON pairs.cluster = here.cluster AND tables.table_name = here.table_name
  LEFT JOIN covered AS there ON pairs.other_cluster = there.cluster AND tables.table_name = there.table_name
),
judged AS (
  SELECT
    covered.cluster,
    covered.snapshot_id,
    covered.snapshot_date,
    covered.captured_at,
    covered.other_cluster,
    covered.other_snapshot_id,
    covered.other_captured_at,
    covered.visibility,
    covered.other_visibility,
    differing.entity_type,
    differing.entity,
    differing.attribute,
    differing.kind,
    differing.is_here,
    differing.is_there,
    differing.value,
    differing.other_value,
    differing.source,
    differing.topic,
    differing.group_id,
    CASE WHEN differing.ground IS NOT NULL AND here.ground IS NULL THEN 'NOT_DESCRIBED' END AS problem,
    CASE WHEN differing.ground IS NOT NULL AND there.ground IS NULL THEN 'NOT_DESCRIBED' END AS other_problem
  FROM differing
  JOIN covered_pairs AS covered
    ON differing.cluster = covered.cluster
    AND differing.other_cluster = covered.other_cluster
    AND differing.table_name = covered.table_name
  LEFT JOIN described AS here ON differing.cluster = here.cluster AND differing.ground = here.ground
  LEFT JOIN described AS there ON differing.other_cluster = there.cluster AND differing.ground = there.ground
  LEFT JOIN same_topics
    ON differing.cluster = same_topics.cluster
    AND differing.other_cluster = same_topics.other_cluster
    AND differing.topic = same_topics.topic
  WHERE
    covered.problem IS NULL
    AND covered.other_problem IS NULL
    -- The parts of a topic that only one cluster has are not listed.
    AND (
      differing.topic IS NULL
      OR same_topics.topic IS NOT NULL
      OR differing.entity_type = 'topic' AND differing.kind = 'thing'
    )
)
SELECT
  cluster,
  snapshot_id,
  snapshot_date,
  captured_at,
  other_cluster,
  other_snapshot_id,
  other_captured_at,
  CASE
    WHEN problem IS NOT NULL OR other_problem IS NOT NULL THEN 'unknown'
    WHEN is_here AND is_there THEN 'different'
    WHEN is_here THEN 'only_here'
    ELSE 'only_there'
  END AS difference,
  entity_type,
  entity,
  attribute,
  value,
  other_value,
  source,
  topic,
  group_id,
  CASE
    WHEN problem IS NOT NULL OR other_problem IS NOT NULL THEN FALSE
    WHEN entity_type NOT IN ('topic', 'group') THEN TRUE
    WHEN NOT is_here THEN coalesce(visibility = 'complete', FALSE)
    WHEN NOT is_there THEN coalesce(other_visibility = 'complete', FALSE)
    ELSE TRUE
  END AS is_proven,
  problem,
  other_problem
FROM judged
UNION ALL
SELECT
  cluster,
  snapshot_id,
  snapshot_date,
  captured_at,
  other_cluster,
  other_snapshot_id,
  other_captured_at,
  'unknown',
  entity_type,
  NULL,
  NULL,
  NULL,
  NULL,
  NULL,
  NULL,
  NULL,
  FALSE,
  problem,
  other_problem
FROM covered_pairs
WHERE problem IS NOT NULL OR other_problem IS NOT NULL
