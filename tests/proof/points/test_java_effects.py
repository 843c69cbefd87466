"""The variant of our log store logs each of its steps."""

from tests.proof.points.java_effects import NAME, SOURCES, source_with_effects


def test_every_step_of_the_log_store_is_an_effect() -> None:
    """A line stands before each call of `Files` that changes something."""
    source = (SOURCES / f"{NAME}.java").read_text()
    steps = [line.strip() for line in source_with_effects(source).splitlines() if line.strip().startswith("effect(")]
    assert len(steps) == sum(
        source.count(f"Files.{method}(") for method in ("write", "deleteIfExists", "createLink", "move")
    )
    assert [step.partition(",")[0] for step in steps] == [
        'effect("write"',
        'effect("remove"',
        'effect("remove"',
        'effect("link"',
        'effect("rename"',
    ]
