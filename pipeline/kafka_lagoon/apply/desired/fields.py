"""Declares the types of the fields of a desired state: names, numbers, lists and references, each with its limits.

Types are strict: text is no number, a boolean is no number, and 1.0 is no whole number.
"""

import re
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator

from kafka_lagoon.apply.desired import validators
from kafka_lagoon.apply.desired.resources import OPERATIONS, PRINCIPAL, USER
from kafka_lagoon.apply.desired.validators import matching, one_of, owned, parsed
from kafka_lagoon.apply.kinds.names import DEFAULT, parse_directory_id, parse_partition
from kafka_lagoon.fetch import offset_specs
from kafka_lagoon.integers import MOST_INT16, MOST_INT32, MOST_INT64
from kafka_lagoon.protocol.messages.describe_user_scram_credentials import SCRAM_MECHANISMS
from kafka_lagoon.secret import Secret
from kafka_lagoon.topic_partition import TopicPartition

_TOPIC_NAME = re.compile(r"(?!\.{1,2}$)[a-zA-Z0-9._-]{1,249}", re.ASCII)
_BROKER_NAME = re.compile(rf"0|[1-9]\d{{0,9}}|{DEFAULT}", re.ASCII)
_PARTITION = re.compile(r"[a-zA-Z0-9._-]{1,249}-\d{1,9}", re.ASCII)
_SHIFT = re.compile(r"[-+]?(?!0+$)\d{1,19}", re.ASCII)
_REFERENCE = re.compile(r"(?:env|file):.+", re.DOTALL)

Text = Annotated[str, BeforeValidator(validators.text)]
Texts = Annotated[list[Text], Field(min_length=1)]
Patterns = list[Annotated[re.Pattern[str], PlainValidator(validators.regular_expression)]]
TopicName = Annotated[
    str,
    matching(_TOPIC_NAME, "is not a name of a topic: 1 to 249 letters, digits, dots, dashes and underscores"),
    owned("topic"),
]
PartitionCount = Annotated[int, Field(ge=1, le=MOST_INT32)]
ReplicationFactor = Annotated[int, Field(ge=1, le=MOST_INT16)]
BrokerId = Annotated[int, Field(ge=0, le=MOST_INT32)]
Replicas = Annotated[  # without strict=False a list would be no tuple
    tuple[BrokerId, ...], Field(strict=False), AfterValidator(validators.replicas)
]
Assignments = Annotated[  # a list of lists, or a table by partition
    dict[Annotated[int, BeforeValidator(validators.index)], Replicas],
    BeforeValidator(validators.by_partition),
    AfterValidator(validators.complete),
]
Partition = Annotated[TopicPartition, parsed(_PARTITION, parse_partition, "must be a partition, TOPIC-NUMBER")]
Partitions = Annotated[list[Partition], Field(min_length=1)]
Configs = Annotated[dict[str, str], BeforeValidator(validators.flat)]  # by name, as texts for Kafka
BrokerName = Annotated[
    str, matching(_BROKER_NAME, f"must be the id of a broker, or {DEFAULT} for all of them"), owned("broker")
]
GroupName = Annotated[str, owned("group")]
SubscriptionName = Annotated[str, owned("client_metrics")]
Principal = Annotated[
    Text,
    matching(PRINCIPAL, "must be TYPE:NAME, such as User:alice"),
    AfterValidator(validators.announced),
    owned("acl"),
]
Operation = Annotated[Text, one_of(OPERATIONS)]
Limit = Annotated[float, Field(ge=0, allow_inf_nan=False)]
ByteRate = Annotated[Limit, AfterValidator(validators.whole)]
UserName = Annotated[Text, owned("scram_user", f"{USER}:")]
Mechanism = Annotated[Text, one_of(list(SCRAM_MECHANISMS.values()))]
Password = Annotated[  # files of desired state are kept in version control
    Secret, parsed(_REFERENCE, Secret, "must be a reference, env:NAME or file:/path, and not the password itself")
]
Level = Annotated[int, Field(ge=0, le=MOST_INT16)]
DirectoryId = Annotated[Text, AfterValidator(parse_directory_id)]
Listener = Annotated[Text, AfterValidator(validators.listener)]
Offset = Annotated[int, Field(ge=0, le=MOST_INT64)]
OffsetSpec = Annotated[offset_specs.OffsetSpec, PlainValidator(validators.offset_spec)]
Shift = Annotated[int, parsed(_SHIFT, int, "must be a number of offsets, negative for back")]
