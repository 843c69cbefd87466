"""Gives the compiled kernels of the encoder names to import; apart from the decoder's, which most processes need alone."""

from kafka_lagoon.records.kernel_cache import load_kernels

encode_records = load_kernels("encode_kernel", {"encode_records": 6})["encode_records"]
