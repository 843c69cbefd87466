"""Lists every command of `lagoon`: the module that declares it, its line in the help, and the extra with its packages.

This module imports no command, so that the start of a command does not wait for the imports of others.
"""

from collections.abc import Mapping

from kafka_lagoon.frozen import frozen

JOBS = "Jobs, for a scheduler"
TABLES = "Queries of the tables"
CLUSTERS = "Live clusters"
INSTALLATION = "This installation"


@frozen(kw_only=False)
class Listed:
    """The place of a command's declaration: a module below kafka_lagoon.cli, and after a colon its name (else COMMAND).

    `heading` is the section of `lagoon --help` that lists it, `extra` the extra of kafka-lagoon that installs its packages.
    A family, such as `lagoon kafka`, has no place; its commands need its extra.
    """

    place: str
    summary: str
    heading: str = ""
    extra: str = ""

    @property
    def module(self) -> str:
        """Return the full name of the module."""
        return f"kafka_lagoon.cli.{self.place.partition(':')[0]}"

    @property
    def attribute(self) -> str:
        """Return the name of the declaration in the module."""
        return self.place.partition(":")[2] or "COMMAND"


# By the words after `lagoon`, in the order of the help. The first word of two is a family.
COMMANDS: Mapping[str, Listed] = {
    "snapshot": Listed("snapshot", "take one snapshot of one or more clusters into the state tables", JOBS, "snapshot"),
    "ingest": Listed("ingest", "archive records since the last run in table records, exactly once", JOBS, "spark"),
    "restore": Listed(
        "restore", "write archived records back into a cluster, exactly once, with a receipt", JOBS, "spark"
    ),
    "maintain": Listed("maintain", "join small files of the tables, remove old rows and files", JOBS, "spark"),
    "report": Listed(
        "report", "make one HTML page about clusters, now or at a past time, from the tables", JOBS, "report"
    ),
    "apply": Listed("apply", "bring a cluster into the desired state of a file, after showing the plan", JOBS, "spark"),
    "lag": Listed("tables.lag", "show the lag of groups in the newest snapshot, the worst first", TABLES, "sql"),
    "health": Listed("tables.health", "show findings of the newest snapshot, and since when they exist", TABLES, "sql"),
    "changes": Listed(
        "tables.changes", "show changes between snapshots; as lag and health, exit 3 above limits", TABLES, "sql"
    ),
    "sql": Listed("sql", "run one SQL statement over the tables and views", TABLES, "sql"),
    "metrics": Listed(
        "metrics", "print lag and state of the newest snapshots in Prometheus' text format", TABLES, "sql"
    ),
    "kafka": Listed(
        "", "query a live cluster: versions, metadata, health, offsets, groups, lag and more", CLUSTERS, "records"
    ),
    "kafka versions": Listed("kafka.versions", "API versions of every broker, and the releases that it may be"),
    "kafka metadata": Listed("kafka.metadata", "the cluster, its brokers, topics and partitions"),
    "kafka health": Listed("kafka.health", "partitions that are leaderless, under-replicated or otherwise unhealthy"),
    "kafka offsets": Listed("kafka.offsets", "start and end offsets of logs, or the first records at a time"),
    "kafka groups": Listed("kafka.groups", "groups of all types, their states and coordinators"),
    "kafka describe-group": Listed("kafka.describe_group", "groups with their members and assignments"),
    "kafka lag": Listed("kafka.lag", "lag of groups"),
    "kafka configs": Listed("kafka.configs", "configs of topics, brokers and others"),
    "kafka acls": Listed("kafka.acls", "ACLs: permissions of principals"),
    "kafka log-dirs": Listed("kafka.log_dirs", "log directories of the brokers and the replicas in them"),
    "kafka quorum": Listed("kafka.quorum", "controllers under KRaft"),
    "kafka reassignments": Listed("kafka.reassignments", "partitions that are being moved to other brokers"),
    "kafka transactions": Listed("kafka.transactions", "transactions, and producers of partitions"),
    "kafka fetch": Listed("kafka.fetch", "records of a topic, from a given offset or time"),
    "kafka produce": Listed("kafka.produce", "write lines of standard input to a topic"),
    "compare": Listed("compare", "compare the records of two topics, in one cluster or two", CLUSTERS, "records"),
    "plan": Listed("plan", "show the actions that bring a cluster into the desired state of a file", CLUSTERS, "yaml"),
    "import": Listed(
        "import_state", "write the current state of a cluster as a file of desired state", CLUSTERS, "yaml"
    ),
    "admin": Listed(
        "", "alter a cluster: topics, configs, ACLs, quotas, offsets of groups and more", CLUSTERS, "spark"
    ),
    "admin create-topic": Listed("admin.topics:CREATE", "create topics"),
    "admin create-partitions": Listed("admin.topics:EXTEND", "add partitions to topics"),
    "admin delete-topic": Listed("admin.topics:DELETE", "delete topics with all their records"),
    "admin delete-records": Listed("admin.topics:TRIM", "delete the oldest records of partitions"),
    "admin alter-configs": Listed("admin.configs", "set and unset configs of topics, brokers and others"),
    "admin elect-leaders": Listed(
        "admin.partitions:ELECT_LEADERS", "elect preferred replicas as leaders, or any live replica"
    ),
    "admin reassign": Listed("admin.partitions:REASSIGN", "move partitions to other brokers"),
    "admin cancel-reassignment": Listed("admin.partitions:CANCEL", "cancel moves of partitions"),
    "admin move-replica": Listed(
        "admin.partitions:MOVE_REPLICA", "move replicas to another log directory of their broker"
    ),
    "admin add-voter": Listed("admin.brokers:ADD_VOTER", "give a controller a vote in the metadata quorum"),
    "admin remove-voter": Listed("admin.brokers:REMOVE_VOTER", "remove a controller's vote"),
    "admin unregister-broker": Listed("admin.brokers:UNREGISTER", "remove the registrations of stopped brokers"),
    "admin update-feature": Listed("admin.brokers:UPDATE_FEATURE", "change the level of features of all brokers"),
    "admin create-acl": Listed("admin.acls:CREATE", "create ACLs"),
    "admin delete-acl": Listed("admin.acls:DELETE", "delete the ACLs that a filter matches"),
    "admin alter-quotas": Listed("admin.quotas", "set and remove quotas of users, clients and addresses"),
    "admin alter-scram": Listed("admin.users:ALTER", "set SCRAM passwords of users"),
    "admin delete-scram": Listed("admin.users:DELETE", "delete SCRAM passwords of users"),
    "admin create-token": Listed("admin.tokens:CREATE", "create a delegation token"),
    "admin renew-token": Listed("admin.tokens:RENEW", "extend the lifetime of delegation tokens"),
    "admin expire-token": Listed("admin.tokens:EXPIRE", "make delegation tokens expire"),
    "admin reset-offsets": Listed("admin.groups:RESET_OFFSETS", "set the offsets of a group"),
    "admin delete-offsets": Listed("admin.groups:DELETE_OFFSETS", "delete committed offsets of a group"),
    "admin delete-group": Listed("admin.groups:DELETE_GROUP", "delete groups with their offsets"),
    "admin abort-transaction": Listed("admin.transactions:ABORT", "abort hanging transactions"),
    "admin fence-producer": Listed("admin.transactions:FENCE", "fence the producers of transactional ids"),
    "demo": Listed(
        "demo", "show the jobs at work on a Kafka of its own, with three brokers and load", INSTALLATION, "demo"
    ),
    "doctor": Listed("doctor", "check this installation, its settings, clusters and warehouse", INSTALLATION, "spark"),
    "permissions": Listed(
        "grants", "print the ACLs that commands need, for kafka-acls.sh or as desired state", INSTALLATION, "records"
    ),
    "path": Listed(
        "path", "print paths of jobs, Spark's settings and Delta's jars, for spark-submit", INSTALLATION, "spark"
    ),
    "completion": Listed(
        "completion", "print a script that completes commands and options in a shell", INSTALLATION, "spark"
    ),
}

# Other names: `topics` and `consume` for users of Kafka's own tools; in `lagoon admin` the names of Kafka's describing APIs.
ALIASES: Mapping[str, str] = {
    "kafka topics": "kafka metadata --only topic",
    "kafka consume": "kafka fetch",
    "admin describe-cluster": "kafka metadata --only cluster,broker",
    "admin describe-topics": "kafka metadata --only topic,partition",
    "admin describe-configs": "kafka configs",
    "admin describe-acls": "kafka acls",
    "admin describe-log-dirs": "kafka log-dirs",
    "admin describe-quorum": "kafka quorum",
    "admin list-reassignments": "kafka reassignments",
}

FOOTERS: Mapping[str, str] = {  # the last paragraph of the help of a family
    "": "lagoon COMMAND --help lists a command's options; lagoon --version prints the version.\n"
    "First steps: lagoon doctor -b HOST:PORT, lagoon kafka lag -b HOST:PORT, lagoon snapshot --conf FILE.",
    "kafka": "lagoon kafka VERB --help lists a verb's options; -b HOST:PORT names the cluster, --json is for scripts;\n"
    "such options of all verbs may stand before the verb.\n"
    "Exit codes: 0 complete, 1 failed, 2 bad arguments or settings, 3 shown but incomplete (standard error says why).",
    "admin": "lagoon admin VERB --help lists a verb's options; -b HOST:PORT names the cluster, --json is for scripts;\n"
    "such options of all verbs may stand before the verb. Each verb shows its plan and asks; --yes confirms it,\n"
    "--dry-run changes nothing. Destructive actions need an option of their own (--allow-...).\n"
    "Exit codes: 0 done, 1 failed, 2 bad arguments or settings, 3 partly done (standard error says why), 4 another run\n"
    "alters the cluster.",
}


def names_of(family: str = "") -> list[str]:
    """Return the names of a family's commands, without the family; for an empty family those directly after `lagoon`."""
    return [name.removeprefix(f"{family} ") for name in COMMANDS if name.rpartition(" ")[0] == family]


def aliases_of(family: str) -> dict[str, str]:
    """Return the aliases of a family's commands, without the family."""
    return {name.partition(" ")[2]: words for name, words in ALIASES.items() if name.partition(" ")[0] == family}


def usage(family: str = "") -> str:
    """Make the help of `lagoon` or of a family."""
    program, word = (f"lagoon {family}", "VERB") if family else ("lagoon", "COMMAND")
    listed = {name: COMMANDS[f"{family} {name}".strip()] for name in names_of(family)}
    lines = {name: (one.heading, one.summary) for name, one in listed.items()}
    lines |= {name: ("", f"short for lagoon {words}") for name, words in aliases_of(family).items()}
    width = max(map(len, lines))
    page = [f"usage: {program} {word} [OPTION ...]"]
    for heading in dict.fromkeys(heading for heading, _ in lines.values()):
        page += ["", f"{heading}:"] if heading else [""]
        page += [f"  {name:{width}}  {summary}" for name, (of, summary) in lines.items() if of == heading]
    return "\n".join([*page, "", FOOTERS[family]])
