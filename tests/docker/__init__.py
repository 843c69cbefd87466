"""Tests of the image and of docker-compose.yml, without an engine of containers."""
