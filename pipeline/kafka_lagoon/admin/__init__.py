"""Kafka's Admin client, one module per area: functions that list, describe and alter parts of a cluster.

Each function takes the cluster, items and a deadline. It returns decoded messages and failures side by side: a `Gathered`,
a message or a `Failure`, or a small frozen class of its area. Rows are made in snapshot/, printing is done in cli/.
Functions that alter go into the module of their area, beside those that describe, and ask `once` where a repeated
request could do harm.
"""
