"""README shows what `lagoon lag` prints, and a picture that is small enough."""

from pathlib import Path

import pytest

from tests.cookbook.first_screen import PICTURE, README, printed_lag, with_lag
from tests.cookbook.week import make_week


@pytest.mark.long
def test_the_readme_shows_what_is_printed(tmp_path: Path) -> None:
    """`python -m tests.cookbook.first_screen` writes it."""
    shown = README.read_text("utf-8")
    assert with_lag(shown, printed_lag(make_week(tmp_path))) == shown


def test_the_picture_is_small() -> None:
    """README is read on slow lines, too."""
    assert PICTURE.stat().st_size < 200_000
