"""Produces records to topics, on the driver or on executors.

`writer` is the way in for callers: it takes records and a `Target` and returns what was written and what was not. Below it,
`batching` collects records by partition, `partitioner` chooses partitions, `sequences` numbers batches, `sending` sends them.
"""
