"""The kinds of actions, a module for each area of a cluster."""
