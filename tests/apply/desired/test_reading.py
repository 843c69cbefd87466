import re
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kafka_lagoon.apply.checks import faults_of
from kafka_lagoon.apply.desired import model
from kafka_lagoon.apply.desired.document import Document
from kafka_lagoon.apply.desired.model import ACTIONS, DesiredTopic, ElectLeaders, ResetOffsets, Section, Sections
from kafka_lagoon.apply.desired.reading import desired_state, read_desired, toml_document
from kafka_lagoon.apply.desired.resources import CONFIG_SECTIONS, OWNED, Acl, ScramUser, limits_of
from kafka_lagoon.apply.desired.table_document import DesiredRow, table_document
from kafka_lagoon.apply.desired.yaml_document import yaml_document
from kafka_lagoon.apply.diff import diff
from kafka_lagoon.errors import ConfigError
from kafka_lagoon.fetch.offset_specs import AtTime
from kafka_lagoon.topic_partition import TopicPartition
from tests.apply.lives import live
from tests.attributes import attributes_of
from tests.effort import examples

TOML = """
cluster_id = "abc"
[owns]
topics = ["orders.*"]
principals = ["User:.*"]
[topics.orders]
partitions = 6
replication_factor = 3
configs = { retention.ms = 86400000, "cleanup.policy" = ["compact", "delete"] }
[topics."orders.v2"]
assignments = [[1, 2], [2, 3]]
[broker_configs."<default>"]
log.cleaner.threads = 2
[[acls]]
principal = "User:alice"
operations = ["READ", "DESCRIBE"]
resource_type = "TOPIC"
resource_name = "orders"
[[quotas]]
user = "alice"
client_id = "<default>"
producer_byte_rate = 1048576
[scram_users.alice.SCRAM-SHA-256]
iterations = 8192
password = "env:ALICE"
[features]
"kraft.version" = 1
[[actions]]
action = "elect_leaders"
partitions = ["orders-0"]
[[actions]]
action = "reset_offsets"
group = "billing"
topics = ["orders"]
to = "1970-01-01T00:00:01Z"
"""
YAML = """
cluster_id: abc
owns:
  topics: ["orders.*"]
  principals: ["User:.*"]
topics:
  orders:
    partitions: 6
    replication_factor: 3
    configs: {retention.ms: 86400000, cleanup.policy: "compact,delete"}
  orders.v2:
    assignments: {0: [1, 2], 1: [2, 3]}
broker_configs:
  <default>: {log.cleaner.threads: 2}
acls:
- {principal: "User:alice", operation: READ, resource_type: TOPIC, resource_name: orders}
- {principal: "User:alice", operation: DESCRIBE, resource_type: TOPIC, resource_name: orders}
quotas:
- {user: alice, client_id: <default>, producer_byte_rate: 1048576}
scram_users:
  alice:
    SCRAM-SHA-256: {iterations: 8192, password: "env:ALICE"}
features:
  kraft.version: 1
actions:
- {action: elect_leaders, partitions: [orders-0]}
- {action: reset_offsets, group: billing, topics: [orders], to: 1970-01-01T00:00:01Z}
"""


def write(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def test_toml_and_yaml_of_the_same_content_are_the_same_state(tmp_path: Path) -> None:
    """But for the places: they are where each file has them."""
    toml = read_desired(write(tmp_path, "x.toml", TOML), 0)
    yaml = read_desired(write(tmp_path, "x.yaml", YAML), 0)
    for field in ("cluster_id", "owns", "topics", "configs", "quotas", "scram_users", "features"):
        assert getattr(toml, field) == getattr(yaml, field), field
    assert list(toml.acls) == list(yaml.acls)
    assert toml.actions == yaml.actions
    assert toml.topics["orders"] == DesiredTopic(
        partitions=6,
        replication_factor=3,
        assignments=None,
        configs={"retention.ms": "86400000", "cleanup.policy": "compact,delete"},
    )
    assert toml.topics["orders.v2"].assignments == {0: (1, 2), 1: (2, 3)}
    assert (toml.topics["orders.v2"].partitions, toml.topics["orders.v2"].replication_factor) == (2, 2)
    assert list(toml.acls)[1] == Acl("TOPIC", "orders", "LITERAL", "User:alice", "*", "DESCRIBE", "ALLOW")
    assert toml.quotas == {"user=alice, client-id=<default>": {"producer_byte_rate": 1048576.0}}
    assert toml.scram_users[ScramUser("alice", "SCRAM-SHA-256")].iterations == 8192
    elect, reset = toml.actions
    assert isinstance(elect, ElectLeaders)
    assert elect.partitions == [TopicPartition("orders", 0)]
    assert isinstance(reset, ResetOffsets)
    assert reset.to == AtTime(1000)
    assert toml.document.place(("topics", "orders", "partitions")).endswith("x.toml:7")
    assert yaml.document.place(("topics", "orders", "partitions")).endswith("x.yaml:8")


def test_defaults_of_topics(tmp_path: Path) -> None:
    """They hold where a topic says nothing itself, config by config; assignments say partitions and factor."""
    text = """cluster_id = "c"
[defaults.topics]
partitions = 6
replication_factor = 3
configs = { "retention.ms" = 1, "compression.type" = "zstd" }
[topics.a]
[topics.b]
partitions = 2
configs = { "retention.ms" = 2 }
[topics.c]
assignments = [[1, 2]]
"""
    topics = read_desired(write(tmp_path, "x.toml", text), 0).topics
    assert [(one.partitions, one.replication_factor) for one in topics.values()] == [(6, 3), (2, 3), (1, 2)]
    assert topics["b"].configs == {"retention.ms": "2", "compression.type": "zstd"}
    with pytest.raises(ConfigError, match=r"x\.toml:3: defaults\.topics\.assignments: is not known here"):
        read_desired(write(tmp_path, "x.toml", 'cluster_id = "c"\n[defaults.topics]\nassignments = [[1]]\n'), 0)


FAULTY = """owner = "me"
[owns]
topics = ["orders.*"]
principals = ["User:.*"]
[topics."bad name"]
[topics.payments]
partitions = 0
replication_factor = "3"
partition = 5
configs = { "retention.ms" = {}, "x" = [[1]] }
[topics.orders]
partitions = 3
assignments = [[1, 2], [2, 2], [1]]
[broker_configs.one]
[[acls]]
principal = "Usr:alice"
operation = "REED"
resource_type = "TOPICS"
[[acls]]
principal = "User:alice"
operations = ["READ", "READ"]
resource_type = "CLUSTER"
[[acls]]
principal = "User:alice"
operation = "READ"
resource_type = "CLUSTER"
resource_name = "another"
[[acls]]
principal = "User:alice"
operation = "READ"
resource_type = "TOPIC"
[[quotas]]
producer_byte_rate = 1
[[quotas]]
user = "a"
producer_byte_rate = -1
[[quotas]]
user = "a"
connection_creation_rate = 5
[[quotas]]
user = "b"
[[quotas]]
user = "b"
[scram_users.alice.SCRAM-SHA-1]
[scram_users.alice.SCRAM-SHA-256]
iterations = 1
password = "hunter2"
[[actions]]
action = "elect_leader"
[[actions]]
action = "reset_offsets"
group = "g"
topics = ["orders"]
to = "soon"
[[actions]]
action = "delete_records"
partitions = ["orders"]
"""


def test_all_faults_at_once_with_their_lines(tmp_path: Path) -> None:
    """All faults in a file are found before any cluster is asked, and no password is repeated."""
    path = write(tmp_path, "x.toml", FAULTY)
    with pytest.raises(ConfigError) as error:
        read_desired(path, 0)
    problems = [problem.removeprefix(path) for problem in error.value.problems]
    expected = [
        ": cluster_id is missing",
        ":1: owner: is not known here (did you mean owns?)",
        ":5: topics.bad name: is not a name of a topic",
        ":6: topics.payments: payments is not matched by owns.topics",
        ":7: topics.payments.partitions: must be at least 1",
        ":8: topics.payments.replication_factor: must be a whole number",
        ":9: topics.payments.partition: is not known here (did you mean partitions?)",
        ":10: topics.payments.configs.x: must be text, a number",
        ":13: topics.orders.assignments[2]: names a broker twice",
        ":14: broker_configs.one: must be the id of a broker, or <default>",
        ":16: acls[1].principal: 'Usr' is not a type of principals",
        ":17: acls[1].operation: 'REED' is not one of",
        ":18: acls[1].resource_type: 'TOPICS' is not one of TOPIC",
        ":19: acls[2]: READ is written a second time, first at",
        ":23: acls[3]: a cluster has the one resource_name kafka-cluster",
        ":28: acls[4]: resource_name is missing",
        ":32: quotas[1]: needs user, client_id, or both, or ip alone",
        ":36: quotas[2].producer_byte_rate: must be at least 0",
        ":37: quotas[3]: cannot limit connection_creation_rate, but producer_byte_rate",
        ":42: quotas[5]: user=b is written a second time, first at",
        ":44: scram_users.alice.SCRAM-SHA-1: 'SCRAM-SHA-1' is not one of SCRAM-SHA-256, SCRAM-SHA-512 (did you mean",
        ":46: scram_users.alice.SCRAM-SHA-256.iterations: must be at least 4096",
        ":47: scram_users.alice.SCRAM-SHA-256.password: must be a reference",
        ":49: actions[1].action: 'elect_leader' is not one of",
        ":54: actions[2].to: 'soon' is not a time",
        ":57: actions[3].partitions[1]: must be a partition, TOPIC-NUMBER",
        ":55: actions[3]: before is missing",
    ]
    missing = [line for line in expected if not any(problem.startswith(line) for problem in problems)]
    assert not missing, "\n".join(problems)
    assert len(problems) == len(expected), [p for p in problems if not any(p.startswith(e) for e in expected)]
    numbers = [int(problem[1:].partition(":")[0]) for problem in problems if problem[1].isdigit()]
    assert numbers == sorted(numbers)
    assert "hunter2" not in str(error.value)


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ('owns.topics = ["("]', ":2: owns.topics[1]: '(' is not a regular expression: missing )"),
        ('owns.topics = ["a{99999999999}"]', ":2: owns.topics[1]: 'a{99999999999}' is not a regular expression: "),
        (
            'owns.topcs = ["x"]',
            ":2: owns.topcs: is not known here (did you mean topics?); known are topics, principals,",
        ),
        ("topics.t.partitions = true", ":2: topics.t.partitions: must be a whole number"),
        ("topics.t.partitions = 1.0", ":2: topics.t.partitions: must be a whole number"),
        ('topics.t.partitions = "5"', ":2: topics.t.partitions: must be a whole number"),
        ("topics.t.replication_factor = 32768", ":2: topics.t.replication_factor: must be at most 32767"),
        ("topics.t = 5", ":2: topics.t: must be a table"),
        ("topics = []", ":2: topics: must be a table"),
        ("acls = {}", ":2: acls: must be a list"),
        ('scram_users."".SCRAM-SHA-256.iterations = 4096', ":2: scram_users.: must be text that is not empty"),
        ("acls = [1]", ":2: acls[1]: must be a table"),
        ("cluster_id = true", ":1: cluster_id: must be text that is not empty"),
        ("topics.t = { assignments = [[1], [2, 3]] }", ":2: topics.t.assignments: partitions have different numbers"),
        ("topics.t = { assignments = { 1 = [1] } }", ":2: topics.t.assignments: must have every partition from 0 on"),
        (
            "topics.t = { assignments = [[1, 2]], partitions = 3 }",
            ":2: topics.t: assignments has 1 partitions of 2 replicas",
        ),
        ("topics.t.assignments = { 0 = [true] }", ":2: topics.t.assignments.0[1]: must be a whole number"),
        ('quotas = [{ user = "u", request_percentage = true }]', ":2: quotas[1].request_percentage: must be a number"),
        ('quotas = [{ user = "u", request_percentage = nan }]', ":2: quotas[1].request_percentage: must be a number"),
        (
            'quotas = [{ user = "u", producer_byte_rate = 1.5 }]',
            ":2: quotas[1].producer_byte_rate: must be a whole number",
        ),
        ("actions = [{}]", ":2: actions[1]: action is missing"),
        ("actions = [{ action = true }]", ":2: actions[1].action: 'True' is not one of elect_leaders"),
        (
            'actions = [{ action = "elect_leaders", election = "x" }]',
            ":2: actions[1].election: must be 'preferred' or 'unclean'",
        ),
        ('actions = [{ action = "elect_leaders", topics = [] }]', ":2: actions[1].topics: must not be empty"),
        (
            'actions = [{ action = "elect_leaders", grop = 1 }]',
            ":2: actions[1].grop: is not known here; known are topics",
        ),
        (
            'actions = [{ action = "reset_offsets", group = "g", topics = ["t"] }]',
            ":2: actions[1]: needs either to or shift",
        ),
        ('actions = [{ action = "delete_records", before = "1" }]', ":2: actions[1]: topics or partitions is missing"),
        (
            f'actions = [{{ action = "add_voter", voter = 1, directory_id = "{"AQEB" * 5}AQ", listeners = ["x"] }}]',
            ":2: actions[1].listeners[1]: 'x'",
        ),
        (
            'actions = [{ action = "remove_voter", voter = 1, directory_id = "d" }]',
            ":2: actions[1].directory_id: 'd' is not the id of a directory",
        ),
    ],
)
def test_a_fault(tmp_path: Path, line: str, fault: str) -> None:
    """Types are strict, and each kind of fault is a sentence about the value."""
    path = write(tmp_path, "x.toml", line if line.startswith("cluster_id") else f'cluster_id = "c"\n{line}\n')
    with pytest.raises(ConfigError) as error:
        read_desired(path, 0)
    (problem,) = error.value.problems
    assert problem.removeprefix(path).startswith(fault)


def test_a_key_of_yaml_without_a_value() -> None:
    """It is a fault beside all others: what is absent for pydantic was forgotten in the file."""
    with pytest.raises(ConfigError) as error:
        desired_state(yaml_document("x.yaml", "cluster_id:\nowns: {topics: }\nfeatures: {a: -1, b: }\n"), 0)
    assert error.value.problems == (
        "x.yaml:1: cluster_id: has no value",
        "x.yaml:2: owns.topics: has no value",
        "x.yaml:3: features.b: has no value",
        "x.yaml:3: features.a: must be at least 0",
    )


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("x.toml", "a = 1\na = 2\n", ":2: not TOML: Cannot overwrite a value"),
        ("x.toml", "a = [", ": not TOML: "),
        ("x.json", "{}", ": the name of a desired state ends with .toml, .yaml or .yml"),
    ],
)
def test_what_is_no_desired_state(tmp_path: Path, name: str, text: str, fault: str) -> None:
    """A syntax fault has its line."""
    path = write(tmp_path, name, text)
    with pytest.raises(ConfigError) as error:
        read_desired(path, 0)
    assert error.value.problems[0].startswith(f"{path}{fault}")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """One line, and no traceback."""
    with pytest.raises(ConfigError, match="No such file"):
        read_desired(str(tmp_path / "x.toml"), 0)


def test_the_example_is_a_desired_state() -> None:
    """With something of every section, and the actions that it mentions are those that there are."""
    file = Path(__file__).parents[3] / "conf" / "desired-state.toml"
    state = read_desired(str(file), 0)
    assert all((state.topics, state.acls, state.quotas, state.scram_users, state.actions, *state.configs.values()))
    assert not [name for name in ACTIONS if name not in file.read_text()]


WORDS = st.sampled_from(
    [
        "a",
        "User:a",
        "READ",
        "TOPIC",
        "1",
        "<default>",
        "SCRAM-SHA-256",
        "env:X",
        "latest",
        "a-0",
        "",
        "reset_offsets",
        "[",
    ]
)
ANYTHING = st.recursive(
    WORDS | st.integers(-1, 9) | st.none() | st.booleans() | st.floats(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)
FIELDS = st.sampled_from(
    [
        "partitions",
        "assignments",
        "configs",
        "principal",
        "operations",
        "operation",
        "resource_type",
        "resource_name",
        "user",
        "client_id",
        "producer_byte_rate",
        "action",
        "topics",
        "group",
        "to",
        "shift",
        "listeners",
        "before",
        "broker",
    ]
)
ENTRY = st.dictionaries(FIELDS, ANYTHING, max_size=4)
SECTION = ANYTHING | st.dictionaries(WORDS, ENTRY | ANYTHING, max_size=3) | st.lists(ENTRY | ANYTHING, max_size=3)


def test_every_key_is_read() -> None:
    """A key that is declared, and that no code reads, would be accepted in a file and planned as nothing."""
    read = attributes_of(Path(str(model.__file__)).parents[1])
    by_table = {*CONFIG_SECTIONS.values(), *OWNED.values(), *limits_of(["ip"]), *limits_of(["user"])}
    sections = [one for one in vars(model).values() if isinstance(one, type) and issubclass(one, Section)]
    unread = [f"{one.__name__}.{key}" for one in sections for key in one.model_fields.keys() - read - by_table]
    assert not unread, "no module of apply/ reads these keys"


@given(st.dictionaries(st.sampled_from([*Sections.model_fields, "other"]), SECTION, max_size=4))
@example({"actions": [{"action": name} for name in ACTIONS]})
def test_whatever_a_file_says_there_are_only_faults(data: dict[str, Any]) -> None:
    """No value of any type in any place makes another error, and each fault is one line with its place."""
    problems: tuple[str, ...] = ()
    try:
        desired_state(Document(name="x", data=data, places={}), 0)
    except ConfigError as error:
        problems = error.problems
    assert all(problem.startswith("x: ") and "\n" not in problem for problem in problems)


PLACES = """cluster_id = {0}
principal_types = {1}
[owns]
topics = {2}
[defaults.topics]
partitions = {3}
configs = {{ "retention.ms" = {4} }}
[topics.t]
partitions = {5}
replication_factor = {6}
assignments = {7}
configs = {8}
[broker_configs.1]
"log.cleaner.threads" = {9}
[[acls]]
permission = {10}
principal = {11}
operation = {12}
resource_type = {13}
resource_name = {14}
pattern_type = {15}
host = {16}
[[quotas]]
user = {17}
producer_byte_rate = {18}
request_percentage = {19}
[scram_users.u.SCRAM-SHA-256]
iterations = {20}
password = {21}
[features]
"metadata.version" = {22}
[[actions]]
action = "abort_transaction"
partition = {23}
start_offset = {24}
[[actions]]
action = "reset_offsets"
group = {25}
topics = {26}
shift = {27}
[[actions]]
action = "delete_records"
partitions = {28}
before = {29}
[[actions]]
action = "empty_broker"
broker = {30}
"""
GOOD = [
    *(
        '"c"',
        '["Group"]',
        '["t"]',
        "1",
        '"1"',
        "1",
        "1",
        "[[1]]",
        "{ x = 1 }",
        "1",
        '"ALLOW"',
        '"User:a"',
        '"READ"',
        '"TOPIC"',
    ),
    *(
        '"t"',
        '"LITERAL"',
        '"*"',
        '"u"',
        "1",
        "1.5",
        "4096",
        '"env:X"',
        "1",
        '"t-0"',
        "0",
        '"g"',
        '["t"]',
        "-1",
        '["t-0"]',
        '"1h ago"',
    ),
    "1",
]
ODD = [
    *(
        "9" * 401,
        "9" * 5_000,
        "-" + "9" * 401,
        "0x" + "f" * 20_000,
        "9" * 401 + ".0",
        "1e400",
        "-1e400",
        "inf",
        "-inf",
        "nan",
    ),
    *(
        "5e-324",
        "1.7976931348623157e308",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "2147483648",
    ),
    *(
        '"' + "9" * 5_000 + '"',
        '"' + "x" * 100_000 + '"',
        '"\\u0000"',
        '""',
        '"\U0001f600"',
        "true",
        "2026-01-01",
        "12:30:00",
    ),
    *(
        "2026-01-01T00:00:00Z",
        "[]",
        "[[]]",
        "[1, [2, [3]]]",
        "{}",
        "{ a = {} }",
        "[" * 90 + "]" * 90,
        '["' + "9" * 5_000 + '"]',
    ),
    "[" + "9" * 401 + "]",
]


@pytest.mark.examples
@pytest.mark.parametrize("place", range(len(GOOD)))
def test_no_scalar_is_a_traceback(place: int) -> None:
    """Every odd value in every place of every format is taken, or is a fault of one line that begins with the file and a place."""
    for odd in Random(place).sample(ODD, examples(len(ODD))):
        text = PLACES.format(*[odd if number == place else value for number, value in enumerate(GOOD)])
        assert all(is_a_line(one) for one in problems_of(lambda text=text: toml_document("x", text))), odd[:50]


def problems_of(read: Callable[[], Document]) -> Sequence[str]:
    """The faults of a document, by itself and in a cluster."""
    try:
        state = desired_state(read(), 0)
        diff(state, live())
        return faults_of(state, live())
    except ConfigError as error:
        return error.problems


def is_a_line(problem: str) -> bool:
    """True if a fault begins with the file's name, and is one line."""
    return problem.startswith("x") and "\n" not in problem


@pytest.mark.parametrize(
    "text", [*(value for value in ODD if "=" not in value), "[" * 50_000, "{a: " * 50_000, "!x 1", "*a", "<<"]
)
def test_no_scalar_of_yaml_is_a_traceback(text: str) -> None:
    """The same of YAML, where a value may also be a tag, an alias or a bomb."""
    for section in ("cluster_id", "quotas", "topics", "acls"):
        for wrapped in (
            f"{section}: {text}\n",
            f"{section}: [{{producer_byte_rate: {text}}}]\n",
            f"{section}: {{a: {text}}}\n",
        ):
            assert all(is_a_line(one) for one in problems_of(lambda text=wrapped: yaml_document("x", text)))


def test_tables_without_an_end() -> None:
    """A key of two thousand parts, and JSON in a row of a table, are refused as quickly as nested values."""
    with pytest.raises(ConfigError, match="nested too deeply"):
        toml_document("x.toml", "a" + ".a" * 2_000 + " = 1\n")
    with pytest.raises(ConfigError, match="nested too deeply"):
        table_document("t", [DesiredRow("topics", "t", "configs", "[" * 100_000)])
    with pytest.raises(ConfigError, match="written a second time"):
        table_document("t", [DesiredRow("acls", "9" * 5_000, "host", "a")] * 2)


@pytest.mark.parametrize(
    "text",
    [
        '[topics.t.configs]\n"retention.ms" = 1\nretention.ms = 2\n',
        '[topics.t]\nconfigs.retention.ms = 2\nconfigs."retention.ms" = 1\n',
        '[broker_configs.1]\nlog.cleaner.threads = 2\n"log.cleaner.threads" = 1\n',
        '[defaults.topics.configs]\n"a.b" = {c = 1}\na.b.c = 2\n',
    ],
)
def test_a_config_is_written_once(text: str) -> None:
    """Quoted and in parts it is the same config: which of both counts nobody can see."""
    with pytest.raises(ConfigError) as error:
        desired_state(toml_document("x.toml", f'cluster_id = "c"\n{text}'), 0)
    (fault,) = error.value.problems
    assert re.match(r"x\.toml:[34]: \S+: \S+ is written twice, whole and in parts", fault)
