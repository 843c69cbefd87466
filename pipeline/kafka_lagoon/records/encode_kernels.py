"""Gives the compiled kernels of the encoder names to import; apart from the decoder's, which most processes need alone."""

from kafka_lagoon.records.kernel_cache import load_kernels

_ENCODE = load_kernels("encode_kernel", {"encode_records": 6, "choose_partitions": 5, "group_positions": 5})

encode_records = _ENCODE["encode_records"]
choose_partitions = _ENCODE["choose_partitions"]
group_positions = _ENCODE["group_positions"]
