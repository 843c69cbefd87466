"""Produces records to topics, on the driver or on executors.

Callers use `writer`, which takes records and a `Target` and returns written and unwritten batches. Below it,
`batching` collects records by partition, `partitioner` chooses partitions, `sequences` numbers batches, `sending` sends them.
"""
