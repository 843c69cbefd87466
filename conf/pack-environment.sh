#!/bin/sh
# Packs a virtual environment with kafka-lagoon[records] for spark.archives: what executors need of Python, decoder compiled.
#
#     python3.11 -m venv /tmp/lagoon && /tmp/lagoon/bin/pip install 'kafka-lagoon[records]'
#     sh "$(/tmp/lagoon/bin/lagoon path conf)/pack-environment.sh" /tmp/lagoon lagoon.tar.gz
#
# Executors need the interpreter that the environment was made with in the same place, and the same processors as this
# machine has: on others each executor compiles the decoder again, which takes five seconds.
set -eu
environment=$1 archive=$2
"$environment/bin/lagoon" path kernels
tar -C "$environment" --exclude=__pycache__ --exclude=pyspark/jars --owner=0 --group=0 -czf "$archive" .
