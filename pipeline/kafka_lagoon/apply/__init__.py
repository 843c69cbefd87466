"""Alters a cluster by actions: defines actions, plans them from a desired state, and carries them out with guards.

`action` defines actions, `kinds` has a module for each area of a cluster. A plan is a list of actions; nothing in this
package alters a cluster in another way.
"""
