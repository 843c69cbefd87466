"""Small messages for one rule each."""

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
    """Numbers of every width, next to each other."""

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
    """All types that have a length."""

    text: String
    raw: Bytes
    numbers: tuple[Int32, ...]
    texts: tuple[String, ...]


@struct
class NullableLengths:
    """All types that have a length, nullable."""

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
    """A struct to nest."""

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
    """Tagged fields around a plain one, not in the order of their tags."""

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
    """A string that has a classic length in flexible versions."""

    classic: String | None = wire(legacy=True)
    compact: String | None


@struct
class Ghost:
    """A struct without any bytes in version 0."""

    late: Int8 = wire(since=1)


@struct
class Haunted:
    """An array of structs without bytes."""

    ghosts: tuple[Ghost, ...]


@struct
class Fetched:
    """Record data, which is not copied."""

    records: Records | None


@struct
class Repeats:
    """Numbers that are often equal."""

    points: tuple[Int32, ...] = wire(repeats=True)


@struct
class ManyRepeats:
    """An array of them."""

    items: tuple[Repeats, ...]
    last: Int8
