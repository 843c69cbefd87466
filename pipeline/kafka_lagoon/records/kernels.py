"""The kernels as compiled functions. Their parameters are described where they are written."""

from kafka_lagoon.records.compiled import kernels

_WALK, _SCAN = (
    kernels("walk_kernel", {"walk_batches": 3, "read_markers": 3}),
    kernels("decode_kernel", {"decode_batches": 4}),
)

walk_batches = _WALK["walk_batches"]
read_markers = _WALK["read_markers"]
decode_batches = _SCAN["decode_batches"]
