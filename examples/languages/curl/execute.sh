#!/usr/bin/env bash
# Sends the mails that are due, and reports what came of them. No Kafka client: it waits for deliveries over HTTP.
set -euo pipefail

server=${LIGHTSCHED_SERVER:-http://127.0.0.1:8080}
deliveries=$server/api/v1/deliveries/${TOPIC:-lightsched.deliveries}
group=${GROUP:-mailer}

post() { curl -sS -H 'Content-Type: application/json' -d @- "$@"; }

# The work. It may see a delivery twice, with the same name: real work goes by that. Prints the report's own fields.
send() {
  jq -r '"\(.delivery) due \(.due): \(.payload)"' <<<"$1" >&2
  jq -c 'if .payload.to then {status: "SUCCESS", result: {sent_to: .payload.to}}
         else {status: "RETRIABLE_FAILURE", error: "a mail needs an address"} end' <<<"$1"
}

# A late or repeated report is answered 409 and changes nothing: whoever came first has spoken.
report() {
  code=$(jq -c --argjson of "$1" '{delivery: $of.delivery, token: $of.token, executor: "curl"} + .' |
    post "$server/api/v1/reports" -o /dev/null -w '%{http_code}')
  [[ $code == 204 || $code == 409 ]] || { echo "the report was answered $code" >&2; exit 1; }
}

while true; do
  page=$(curl -sS --fail-with-body "$deliveries?group=$group&wait=30s")
  while read -r delivery; do
    send "$delivery" | report "$delivery"
  done < <(jq -c '.deliveries[] | select(.type == "mail.send")' <<<"$page")
  # After the reports: a crash in between repeats a delivery, and loses none.
  jq -c --arg group "$group" '{$group, cursor}' <<<"$page" | post --fail-with-body "$deliveries/ack"
done
