import time
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kafka_lagoon.apply.desired.model import DeleteGroup
from kafka_lagoon.apply.desired.reading import desired_state
from kafka_lagoon.apply.desired.yaml_document import yaml_document
from kafka_lagoon.errors import ConfigError


def faults(text: str) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as error:
        yaml_document("x.yaml", text)
    return error.value.problems


def test_plain_values_are_those_of_yaml_1_2() -> None:
    """Only true, false, null and plain numbers are not text; keys are text."""
    document = yaml_document(
        "x.yaml",
        "a: no\nb: 010\nc: 1:30\nd: true\ne: 12\nf: 1.5\ng: '12'\n5: ~\nno: 2026-01-01\nh: +7\ni: -0\nj: -3\nk: 0\n",
    )
    assert document.data == {
        "a": "no",
        "b": "010",
        "c": "1:30",
        "d": True,
        "e": 12,
        "f": 1.5,
        "g": "12",
        "5": None,
        "no": "2026-01-01",
        "h": "+7",
        "i": "-0",
        "j": -3,
        "k": 0,
    }


def test_a_name_that_looks_like_a_number_stays_that_name() -> None:
    """A sign in it is not lost: the action would be about another group."""
    groups = ("+7", "-0", "0", "7", "-7")
    actions = "".join(f"- {{action: delete_group, group: {group}}}\n" for group in groups)
    desired = desired_state(yaml_document("x.yaml", f"cluster_id: c\nactions:\n{actions}"), 0)
    assert [one.group for one in desired.actions if isinstance(one, DeleteGroup)] == list(groups)


def test_values_have_their_lines() -> None:
    """Keys, elements of lists, and values over several lines."""
    document = yaml_document("x.yaml", "a:\n  b: 1\n  c:\n    - 1\n    - x: 2\ntext: |\n  one\n  two\nafter: 1\n")
    assert document.place(("a", "b")) == "x.yaml:2"
    assert document.place(("a", "c", 1, "x")) == "x.yaml:5"
    assert document.place(("after",)) == "x.yaml:9"
    assert document.place(("a", "c", 7, "nowhere")) == "x.yaml:3"


def test_faults_of_the_text() -> None:
    """Every duplicate key is named with both lines; a text that is no YAML with the line where it ends to be."""
    assert faults("a: 1\nb: 2\na: 3\nb: 4\n") == (
        "x.yaml:3: a is written a second time, first in line 1",
        "x.yaml:4: b is written a second time, first in line 2",
    )
    assert faults("a: [1\nb: 2\n")[0].startswith("x.yaml:2: not YAML: ")
    assert faults("- 1\n") == ("x.yaml:1: must be a mapping of sections",)
    assert faults("a: 1\n---\nb: 1\n")[0].startswith("x.yaml:2: not YAML")


@pytest.mark.long
def test_nothing_is_constructed() -> None:
    """A tag does not make an object, and values that contain themselves or grow beyond all bounds are refused."""
    assert "is not a type" in faults("a: !!python/object/apply:os.getcwd []\nb: !thing x\n")[-1]
    assert "nested too deeply" in faults("a: &a [*a]\n")[0]
    bomb = "a: &x0 [1,1,1,1,1,1,1,1,1,1]\n" + "".join(
        f"b{i}: &x{i} [{','.join([f'*x{i - 1}'] * 10)}]\n" for i in range(1, 9)
    )
    started = time.process_time()
    assert "aliases and merges repeat more than" in faults(bomb)[0]
    assert "nested more than 30 levels" in faults(f"a: {'[' * 200_000}")[0]
    assert "nested more than 30 levels" in faults("- " * 200_000)[0]
    merges = "a: &x0 {k: 1}\n" + "".join(
        f"b{i}: &x{i} {{<<: [{','.join([f'*x{i - 1}'] * 10)}]}}\n" for i in range(1, 9)
    )
    assert "aliases and merges repeat more than" in faults(merges)[0]
    assert "within themselves" in faults("a: &a {<<: *a}\n")[0]
    assert time.process_time() - started < 20


def test_merge_keys() -> None:
    """A mapping takes precedence over mappings that it merges, the first of those over the next; lines are those of the values."""
    text = """base: &base
  retention.ms: 1
  cleanup.policy: delete
more: &more {retention.ms: 2, compression.type: zstd}
one: {<<: *base, retention.ms: 3}
two:
  <<: [*more, *base]
three: {<<: {<<: *base, x: 1}}
"<<": text
"""
    document = yaml_document("x.yaml", text)
    assert document.data["one"] == {"retention.ms": 3, "cleanup.policy": "delete"}
    assert document.data["two"] == {"retention.ms": 2, "compression.type": "zstd", "cleanup.policy": "delete"}
    assert document.data["three"] == {"x": 1, "retention.ms": 1, "cleanup.policy": "delete"}
    assert document.data["<<"] == "text"
    assert document.place(("two", "cleanup.policy")) == "x.yaml:3"
    assert document.place(("one", "retention.ms")) == "x.yaml:5"
    assert faults("a: {<<: 1}\n") == ("x.yaml:1: << must be followed by a mapping, or by a list of mappings",)
    assert "<< is written a second time" in faults("b: &b {x: 1}\na:\n  <<: *b\n  <<: *b\n")[0]


TABLES = st.recursive(
    st.dictionaries(st.sampled_from(["a", "b", "c"]), st.integers(0, 9), max_size=3),
    lambda inner: st.fixed_dictionaries(
        {}, optional={"<<": inner, "a": inner | st.integers(0, 9), "b": inner, "d": st.integers(0, 9)}
    ),
    max_leaves=8,
)


@given(TABLES)
def test_merges_are_those_of_pyyaml(table: dict[str, Any]) -> None:
    """Merged mappings have the same values as by PyYAML's own constructor."""
    text = yaml.safe_dump({"root": table}, default_flow_style=True).replace("'<<'", "<<")
    assert yaml_document("x.yaml", text).data == yaml.safe_load(text)


def test_an_empty_file_is_an_empty_document() -> None:
    """The reader of the document reports what is missing."""
    assert yaml_document("x.yaml", "# nothing\n").data == {}


def test_repeated_values_that_are_deep() -> None:
    """Values that aliases repeat take bounded time, however deep: each value has a place, as long as its depth."""
    deep, started = "{a: " * 28 + "x" + "}" * 28, time.process_time()
    assert "aliases and merges repeat" in faults(f"b: &b {deep}\nc: [{', '.join(['*b'] * 9_000)}]\n")[0]
    assert "levels deep" in faults(f"b: {{a: {deep}}}\nc: [[[{deep}]]]\n")[0]
    assert time.process_time() - started < 2
