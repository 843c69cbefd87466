"""A change or a request without an effect is found, and so is an effect that is logged less often than it took place."""

from collections import Counter

from tests.proof.points.check import unexplained_changes, unexplained_requests
from tests.proof.points.effects import Effect
from tests.proof.points.watch import Change

LOG = "lag/_delta_log"
EFFECTS = [
    Effect("delta.publish._write:mkdir lag day", 1, "lag/d=1", True, "after"),
    Effect("delta.publish._write:create lag file", 1, "lag/d=1/a.parquet", True, "after"),
    Effect("delta.publish._write:write lag file", 1, "lag/d=1/a.parquet", True, "after"),
    Effect("delta.publish._write:commit lag", 1, "lag", True, "after"),
    Effect("delta.publish._write:checkpoint lag", 1, "lag", True, "after"),
    Effect("delta.publish._write:remove lag file", 1, "lag/d=1/b.parquet", True, "after"),
    Effect("client:Produce", 1, "Produce", False, "after"),
    Effect("client:Produce", 2, "Produce", False, "before"),
]
CHANGES = Counter(
    [
        Change("new", "lag/d=1"),
        Change("new", "lag/d=1/a.parquet"),
        Change("write", "lag/d=1/a.parquet"),
        Change("new", f"{LOG}/.00000000000000000003.json.0f.tmp"),
        Change("write", f"{LOG}/.00000000000000000003.json.0f.tmp"),
        Change("new", f"{LOG}/00000000000000000003.json"),
        Change("gone", f"{LOG}/.00000000000000000003.json.0f.tmp"),
        Change("new", f"{LOG}/00000000000000000003.checkpoint.parquet"),
        Change("gone", f"{LOG}/00000000000000000001.json"),
        Change("gone", "lag/d=1/b.parquet"),
        Change("gone", "lag/d=1/b.parquet/if it was a folder"),
    ]
)


def test_everything_is_explained() -> None:
    """Each effect explains what its kind may change, where it may."""
    assert unexplained_changes(EFFECTS, CHANGES) == []
    assert unexplained_requests(EFFECTS, {"Produce": 2}) == []


def test_each_effect_is_missed() -> None:
    """The check finds every effect that is left out of the log."""
    for left_out in EFFECTS:
        rest = [effect for effect in EFFECTS if effect is not left_out]
        assert unexplained_changes(rest, CHANGES) + unexplained_requests(rest, {"Produce": 2}), left_out


def test_a_change_without_an_effect() -> None:
    """A second commit, a second removal, and a file beside the tables."""
    for change in (
        Change("new", f"{LOG}/00000000000000000004.json"),
        Change("gone", "lag/d=1/b.parquet"),
        Change("new", "elsewhere"),
    ):
        assert len(unexplained_changes(EFFECTS, CHANGES + Counter([change]))) == 1
