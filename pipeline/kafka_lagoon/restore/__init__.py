"""Puts archived records, topics and offsets of groups back into a cluster: plans, tasks, progress and receipts."""
