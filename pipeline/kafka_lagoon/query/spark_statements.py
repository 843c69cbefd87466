"""Checks a statement for Spark by the plan of Spark's parser: it must be one query over names, and no part of it may write.

The first word is not enough: `FROM ... INSERT INTO` and a DELETE after WITH write, and `reflect` calls any Java method. Every
kind of node that is not known to read is refused, so that commands of later releases are, too.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from kafka_lagoon.query.statements import refused


def _names(words: str) -> frozenset[str]:
    """Words of a text, so that long lists of names take few lines."""
    return frozenset(words.split())


_QUERY = _names(
    "Aggregate Distinct Except Expand Filter Generate GlobalLimit Intersect Join LateralJoin LimitAll LocalLimit "
    "LocalRelation Offset OneRowRelation PipeOperator Pivot Project Range RelationTimeTravel Repartition "
    "RepartitionByExpression Sample Sort SubqueryAlias Tail Union UnionLoop Unpivot UnresolvedHaving UnresolvedHint "
    "UnresolvedInlineTable UnresolvedOrdinal UnresolvedRelation UnresolvedSubqueryColumnAliases UnresolvedTVFAliases "
    "UnresolvedTableValuedFunction UnresolvedWith Window WithWindowDefinition"
)
# Nodes of SHOW, DESCRIBE and EXPLAIN, which run nothing.
_ABOUT = _names(
    "CurrentNamespace DescribeColumn DescribeQueryCommand DescribeRelation ExplainCommand ShowColumns ShowTables ShowViews "
    "UnresolvedNamespace UnresolvedTable UnresolvedTableOrView"
)
_RELATIONS = ("UnresolvedRelation", "UnresolvedTableOrView", "UnresolvedTable")
_TABLE_FUNCTIONS = _names(
    "collations explode explode_outer inline inline_outer json_tuple posexplode posexplode_outer range sequence "
    "sql_keywords stack variant_explode variant_explode_outer"
)
# Functions that call Java methods, or open a file that an argument names: of Avro by avroSchemaUrl, of XML by
# rowValidationXSDPath. XPath functions open the file or URL that the DOCTYPE of a document names, and a document may be the
# value of a record.
_FUNCTIONS = _names(
    "reflect java_method try_reflect from_protobuf to_protobuf from_avro schema_of_avro from_xml schema_of_xml "
    "xpath xpath_boolean xpath_double xpath_float xpath_int xpath_long xpath_number xpath_short xpath_string"
)
_SUBQUERIES = _names(
    "ArraySubquery Exists FunctionTableSubqueryArgumentExpression LateralSubquery ListQuery ScalarSubquery"
)


def refuse_references(statement: str) -> None:
    """Raise ConfigError for a statement with `${...}`: before it parses, Spark puts environment variables in its place.

    Passwords are in such variables. Spark does so within strings and comments, too, unless its settings forbid it.
    """
    if "${" in statement:
        raise refused("statements without it: Spark would put variables of the environment in its place", "${...}")


def refuse_all_but_a_query(plan: Any, schema: Sequence[str]) -> None:
    """Raise ConfigError unless a parsed plan only reads.

    The only qualifier that names may have is the end of `schema` (catalog and schema).
    """
    waiting = [plan]
    while waiting:
        node = waiting.pop()
        kind = node.getClass().getSimpleName().rstrip("$")
        if kind not in _QUERY | _ABOUT:
            raise refused("SELECT and other statements that read", kind)
        if kind in _RELATIONS:
            _refuse_other_places([*_elements(node.multipartIdentifier())], schema)
        if kind == "UnresolvedTableValuedFunction":
            _refuse_table_function([*_elements(node.name())])
        waiting += [*_elements(node.children()), *_plans_within(kind, node)]
        windows = _elements(node.windowDefinitions().values().toSeq()) if kind == "WithWindowDefinition" else ()
        waiting += _subqueries([*_elements(node.expressions()), *windows])


def _plans_within(kind: str, node: Any) -> Iterator[Any]:
    """Plans that a node holds beside its children."""
    match kind:
        case "ExplainCommand":
            yield node.logicalPlan()
        case "DescribeQueryCommand":
            yield node.plan()
        case "RelationTimeTravel":
            yield node.relation()
        case "UnresolvedWith":
            yield from _elements(node.innerChildren())


def _subqueries(expressions: Iterable[Any]) -> Iterator[Any]:
    """Plans of all subqueries within expressions."""
    waiting = [*expressions]
    while waiting:
        expression = waiting.pop()
        kind = expression.getClass().getSimpleName()
        if kind == "UnresolvedFunction":
            name = [*_elements(expression.nameParts())]
            if name[-1].lower() in _FUNCTIONS:
                raise refused("SELECT and other statements that read", name[-1])
        if "UnresolvedIdentifier" in kind:
            raise refused("statements that name their functions and tables", "IDENTIFIER")
        if kind in _SUBQUERIES:
            yield expression.plan()
        waiting += _elements(expression.children())


def _refuse_table_function(name: Sequence[str]) -> None:
    if name[-1].lower() not in _TABLE_FUNCTIONS:
        raise refused("SELECT over the tables and views", name[-1])


def _refuse_other_places(name: Sequence[str], schema: Sequence[str]) -> None:
    """Refuse qualified names: a qualifier may be a file format, and the name a path."""
    qualifier = [part.lower() for part in name[:-1]]
    if qualifier and qualifier != [part.strip("`").lower() for part in schema][-len(qualifier) :]:
        raise refused("SELECT over the tables and views of its warehouse", ".".join(name))


def _elements(several: Any) -> Iterator[Any]:
    """The elements of a Scala Seq."""
    return (several.apply(number) for number in range(several.size()))
