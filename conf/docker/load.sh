#!/bin/sh
# Some load for the clusters of docker-compose.yml: records for two topics, and a group without members that stays behind.
#
#     SERVERS=kafka-1:9092 sh load.sh
set -eu
unset LAGOON_WAREHOUSE # this container has no tables, and what it alters needs no record
lagoon admin create-topic orders payments --partitions 6 --if-not-exists --yes -b "$SERVERS"
number=0
while :; do
    number=$((number + 1))
    for topic in orders payments; do
        seq 1 200 | sed "s/.*/customer &\torder $number-&/" |
            lagoon kafka produce "$topic" --key-separator '\t' --count -b "$SERVERS" > /dev/null
    done
    # A nightly job that is seldom through with its work.
    if [ $((number % 20)) -eq 1 ]; then
        lagoon admin reset-offsets nightly --topic payments --to latest-100 --yes -b "$SERVERS"
    fi
    sleep "${PAUSE_S:-5}"
done
