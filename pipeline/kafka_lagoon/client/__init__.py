"""Settings in, answered requests out: connections, brokers, the cluster, and routing with retries under one deadline."""
