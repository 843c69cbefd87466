#!/bin/sh
# Runs the jobs of docker-compose.yml for ever: at every slot a snapshot, what is new in the topics, and the report; once a day
# the maintenance. One after the other, so that none finds another's lock. What fails is in the log, and the next slot comes. A job
# that hangs is ended (exit code 124).
#
#     EVERY_S=300 REPORT=/var/lib/lagoon/report/index.html sh schedule.sh
set -u
: "${EVERY_S:=300}" "${REPORT:=/var/lib/lagoon/report/index.html}"
mkdir -p "$(dirname "$REPORT")"
maintained=

run() { # seconds that it may take, command
    limit=$1
    shift
    timeout --kill-after=30s "$limit" "$@" || echo "schedule: $* ended with exit code $?" >&2
}

while :; do
    slot=$(($(date +%s) / EVERY_S * EVERY_S))
    run 900 lagoon snapshot --slot "$(date -u -d "@$slot" +%Y-%m-%dT%H:%M:%SZ)"
    run 21600 lagoon ingest
    run 1800 lagoon report --out "$REPORT"
    today=$(date -u +%F)
    if [ "$today" != "$maintained" ]; then
        run 21600 lagoon maintain
        maintained=$today
    fi
    left=$((slot + EVERY_S - $(date +%s)))
    if [ "$left" -gt 0 ]; then sleep "$left"; fi
done
