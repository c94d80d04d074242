#!/usr/bin/env bash
# Schedules a mail for two seconds from now: schedule.sh ID ADDRESS
set -euo pipefail

server=${LIGHTSCHED_SERVER:-http://127.0.0.1:8080}

# The key keeps mails to one address in order; the retry has it tracked: executors report.
jq -n --arg id "$1" --arg to "$2" '{
  id: $id, key: $to, type: "mail.send", in: "2s", retry: {delays: ["1s"]}, payload: {to: $to, text: "Hello from curl"}
}' | curl -sS --fail-with-body "$server/api/v1/events" -H 'Content-Type: application/json' -d @-
echo
