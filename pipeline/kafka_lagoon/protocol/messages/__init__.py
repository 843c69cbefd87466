"""One module per API, named as Kafka names it: requests and responses as classes, the API as a constant."""
