"""Fetched bytes in, Arrow columns out: RecordBatch v2, MessageSet v0 and v1, codecs, checksums, control and aborted data."""
