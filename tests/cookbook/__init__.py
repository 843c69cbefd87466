"""The pages of queries: a week of a small shop's cluster, the queries of docs/queries.md, and their results."""
