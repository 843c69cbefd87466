"""Archives records in table `records` exactly once: the commit, the next offsets within it, and what follows it."""
