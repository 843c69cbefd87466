"""Tests of the image and of docker-compose.yml, without a container engine."""
