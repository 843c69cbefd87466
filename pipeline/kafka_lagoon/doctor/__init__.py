"""Checks an installation and its clusters for `lagoon doctor`: each check stands alone, and none alters a cluster."""
