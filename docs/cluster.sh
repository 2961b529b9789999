#!/usr/bin/env bash
# Three nats-servers that replicate, on loopback, and two tallystick nodes on top;
# then a campaign of a one-machine server is moved onto them and played on through
# both nodes. Everything lives in a scratch folder. With --stay it keeps running.
set -euo pipefail
repo=$(cd "$(dirname "$0")/.." && pwd)
scratch=$(mktemp -d)
pids=()
trap 'kill "${pids[@]}" 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$scratch"' EXIT
cd "$repo"
go build -o "$scratch/tallystick" ./cmd/tallystick
go build -o "$scratch/nats-server" github.com/nats-io/nats-server/v2 # the version that go.mod names
cd "$scratch"

base=${TALLYSTICK_CLUSTER_PORT:-14222} # this port and the five after it
urls=; routes=
for i in 0 1 2; do
    urls+=${urls:+,}nats://127.0.0.1:$((base + i))
    routes+=${routes:+, }\"nats://127.0.0.1:$((base + 3 + i))\"
done
for i in 0 1 2; do
    # sync_interval always: an answer means that a majority has it on disk. In
    # production, add users and TLS, and a user for tallystick that may not update,
    # delete or purge a stream.
    cat > "s$i.conf" <<CONF
server_name: s$i
listen: "127.0.0.1:$((base + i))"
jetstream { store_dir: "$scratch/s$i", sync_interval: always }
cluster { name: tallystick, listen: "127.0.0.1:$((base + 3 + i))", routes: [$routes] }
CONF
    ./nats-server -c "s$i.conf" > "s$i.log" 2>&1 &
    pids+=($!)
done

serve() { # folder, flags: starts a node, sets $address
    local folder=$1; shift
    for _ in $(seq 30); do # the servers may still be electing a leader
        : > "$folder.log"
        ./tallystick serve --data "$folder" --listen 127.0.0.1:0 "$@" > "$folder.log" 2>&1 &
        local pid=$!
        while kill -0 $pid 2>/dev/null; do
            address=$(sed -n 's/^tallystick serves //p' "$folder.log")
            [ -n "$address" ] && { pids+=($pid); return; }
            sleep 0.1
        done
        sleep 0.3
    done
    cat "$folder.log"; exit 1
}
call() { # token, path, body, more curl arguments
    local token=$1 path=$2 body=$3; shift 3
    curl -sS --fail-with-body "$path" -H "Authorization: Bearer $token" -H 'Content-Type: application/json' -d "$body" "$@"
}
give() { call "$1" "$2/commands" "$3" -H "Idempotency-Key: $(cat /proc/sys/kernel/random/uuid)"; }

# A campaign that began on one machine, in the middle of a session.
serve old; old=$address
made=$(call "$(cat old/admin.token)" "$old/v1/campaigns" '{"name":"Moved","system":"rpgamix"}')
campaign=$(jq -r .campaign <<< "$made"); jq -r .gm.token <<< "$made" > gm.token
give "$(cat gm.token)" "$old/v1/campaigns/$campaign" '{"type":"session.open","data":{"title":"one","kind":"table"}}' > /dev/null
give "$(cat gm.token)" "$old/v1/campaigns/$campaign" '{"type":"roll","data":{"expression":"3d6"}}' > /dev/null
./tallystick export "$campaign" --server "$old" --token-file gm.token --out bundle

# Two nodes. All nodes of a ledger have the same keys and the same admin token:
# with those of the old server its campaigns can be played on.
mkdir -m 700 a b
for folder in a b; do cp old/master.key old/signing.key old/admin.token "$folder/"; done
serve a --nats "$urls" --replicas 3; a=$address
serve b --nats "$urls" --replicas 3; b=$address
# --json also shows the participants' new tokens.
token=$(./tallystick import bundle --json --server "$a" --token-file a/admin.token | tee import.json | jq -r '[.. | objects | select(.handle? == "gm") | .token][0]')

first=$(give "$token" "$a/v1/campaigns/$campaign" '{"type":"roll","data":{"expression":"3d6"}}' | jq .first)
second=$(give "$token" "$b/v1/campaigns/$campaign" '{"type":"roll","data":{"expression":"3d6"}}' | jq .first)
[ "$second" = $((first + 1)) ] || { echo "record $second through the second node, $first through the first"; exit 1; }
echo "$token" > gm2.token
./tallystick export "$campaign" --server "$b" --token-file gm2.token --out moved
./tallystick replay moved
head -c "$(stat -c %s bundle/events.jsonl)" moved/events.jsonl | cmp - bundle/events.jsonl
echo "moved as it was, and played on through both nodes: $a and $b"
[ "${1:-}" != --stay ] || { echo "admin token: $(cat a/admin.token)"; wait; }
