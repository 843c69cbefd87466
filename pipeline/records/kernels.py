"""Addresses in, columns out: the functions of walk.py and scan.py as machine code. What they take and give stands there."""

from pipeline.records.compiled import kernels

_WALK, _SCAN = kernels("walk", {"walk_batches": 3, "read_markers": 3}), kernels("scan", {"decode_batches": 4})

walk_batches = _WALK["walk_batches"]
read_markers = _WALK["read_markers"]
decode_batches = _SCAN["decode_batches"]
