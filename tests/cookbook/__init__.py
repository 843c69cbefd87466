"""The pages of queries: a week of a small shop's cluster, the questions of docs/queries.md, and their answers."""
