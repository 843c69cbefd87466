"""Produces records: partitions, batches, sequence numbers and transactions. Runs on the driver and on executors."""
