"""The limits are those of numpy's types."""

import numpy as np

from kafka_lagoon.integers import MOST_INT16, MOST_INT32, MOST_INT64


def test_the_greatest_numbers():
    """Each is the greatest number of its type."""
    for most, kind in ((MOST_INT16, np.int16), (MOST_INT32, np.int32), (MOST_INT64, np.int64)):
        assert most == np.iinfo(kind).max
