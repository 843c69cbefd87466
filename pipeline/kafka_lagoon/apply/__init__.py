"""Alters a cluster by actions: what each needs and does, plans made of desired state, and their guarded execution.

`action` says what an action is, `kinds` has a module for the actions of each area. A plan is a list of actions; nothing here
alters a cluster in another way.
"""
