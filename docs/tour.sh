#!/usr/bin/env bash
# Runs the curl tour of the README as it is printed there, against a server of
# its own, in a scratch copy of the working directory's data.
set -euo pipefail
repo=$(cd "$(dirname "$0")/.." && pwd)
scratch=$(mktemp -d)
trap 'kill "${server:-}" 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$scratch"' EXIT
cd "$repo"
go build -o "$scratch/tallystick" ./cmd/tallystick
(cd "$scratch" && exec ./tallystick serve --data data) > "$scratch/server.log" 2>&1 &
server=$!
for _ in $(seq 100); do
    grep -q serves "$scratch/server.log" && break
    sleep 0.1
done
# The block between the marker and the end of its fence; "go run" becomes the
# binary, as the scratch folder is no module.
awk '/^<!-- tour/ {on=1; next} on && /^```sh/ {body=1; next} body && /^```/ {exit} body' README.md |
    sed "s#go run ./cmd/tallystick#./tallystick#" > "$scratch/tour"
[ -s "$scratch/tour" ] || { echo 'the README has no tour'; exit 1; }
(cd "$scratch" && bash -euo pipefail tour) | tee "$scratch/out"
grep -q 'identical' "$scratch/out"
