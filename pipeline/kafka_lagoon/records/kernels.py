"""Gives the compiled kernels names to import. Their parameters are described in the modules that define them."""

from kafka_lagoon.records.kernel_cache import load_kernels

_WALK = load_kernels("walk_kernel", {"walk_batches": 3, "read_markers": 3})
_DECODE = load_kernels("decode_kernel", {"decode_batches": 4, "skip_records": 3})
_DIGEST = load_kernels("digest_kernel", {"hash_records": 1, "fold_hashes": 3})

walk_batches = _WALK["walk_batches"]
read_markers = _WALK["read_markers"]
decode_batches = _DECODE["decode_batches"]
skip_records = _DECODE["skip_records"]
hash_records = _DIGEST["hash_records"]
fold_hashes = _DIGEST["fold_hashes"]
