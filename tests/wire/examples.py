"""Small messages that show one rule each."""

from kafka_lagoon.wire.schema import (
    Bool,
    Bytes,
    Float64,
    Int8,
    Int16,
    Int32,
    Int64,
    Records,
    String,
    UInt16,
    UInt32,
    Uuid,
    struct,
    wire,
)


@struct
class Scalars:
    """One of each width, neighbours all."""

    flag: Bool
    tiny: Int8
    small: Int16
    port: UInt16
    number: Int32
    count: UInt32
    large: Int64
    quota: Float64
    topic_id: Uuid


@struct
class Lengths:
    """Everything that has a length."""

    text: String
    raw: Bytes
    numbers: tuple[Int32, ...]
    texts: tuple[String, ...]


@struct
class NullableLengths:
    """Everything that has a length, or null."""

    text: String | None = wire(default=None)
    raw: Bytes | None = wire(default=None)
    numbers: tuple[Int32, ...] | None = wire(default=None)
    texts: tuple[String, ...] | None = wire(default=None)


@struct
class LaterNull:
    """Null is valid from version 2 on; the field exists from version 1 on."""

    name: String | None = wire(since=1, nullable_since=2)


@struct
class Point:
    """Something to nest."""

    x: Int8
    y: Int8 = wire(since=1, default=-1)


@struct
class Nests:
    """A required struct, a nullable one, and an array."""

    single: Point
    maybe: Point | None = wire(default=None)
    many: tuple[Point, ...]


@struct
class Tagged:
    """Tagged fields, declared in another order than that of their tags, around a plain one."""

    late: Int16 = wire(tag=5, default=-1)
    plain: Int8
    early: String | None = wire(tag=0, default=None)
    point: Point | None = wire(tag=2, default=None)
    points: tuple[Point, ...] = wire(since=1, tag=3, ignorable=True)


@struct
class History:
    """Fields that were added and removed."""

    always: Int8
    added: Int8 = wire(since=2, default=7)
    removed: String = wire(until=1)
    forgettable: Int8 = wire(since=2, default=7, ignorable=True)


@struct
class Legacy:
    """A string that stays classic in flexible versions."""

    classic: String | None = wire(legacy=True)
    compact: String | None


@struct
class Ghost:
    """Nothing at all in version 0."""

    late: Int8 = wire(since=1)


@struct
class Haunted:
    """Many of nothing."""

    ghosts: tuple[Ghost, ...]


@struct
class Fetched:
    """Record data, left where it is."""

    records: Records | None


@struct
class Repeats:
    """Values that are often the same."""

    points: tuple[Int32, ...] = wire(repeats=True)


@struct
class ManyRepeats:
    """Several of them."""

    items: tuple[Repeats, ...]
    last: Int8
