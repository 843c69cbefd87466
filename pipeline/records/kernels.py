"""Addresses in, columns out: the functions of scan.py as machine code. Their parameters and results are described there."""

from pipeline.records.compiled import kernels

_KERNELS = kernels("scan", {"walk_batches": 3, "decode_batches": 4, "read_markers": 3})

walk_batches = _KERNELS["walk_batches"]
decode_batches = _KERNELS["decode_batches"]
read_markers = _KERNELS["read_markers"]
