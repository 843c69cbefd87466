"""`lagoon admin`: one module for each area of a cluster, with the verbs that alter it."""
