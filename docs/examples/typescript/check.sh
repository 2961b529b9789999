#!/usr/bin/env bash
# Makes TypeScript types of the OpenAPI document of a running server, compiles
# night.ts against them in strict mode, and plays it there.
set -euo pipefail
cd "$(dirname "$0")"
npm ci --ignore-scripts --no-audit --no-fund --silent
work=$(mktemp -d)
trap 'kill "${server:-}" 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$work"' EXIT

(cd ../../.. && go build -o "$work/tallystick" ./cmd/tallystick)
"$work/tallystick" serve --data "$work/data" --listen 127.0.0.1:0 >"$work/out" 2>"$work/log" &
server=$!
until grep -q '^tallystick serves ' "$work/out"; do
    kill -0 "$server" || { cat "$work/log"; exit 1; }
    sleep 0.1
done
TALLYSTICK_SERVER=$(sed -n 's/^tallystick serves //p' "$work/out")
TALLYSTICK_ADMIN=$(cat "$work/data/admin.token")
export TALLYSTICK_SERVER TALLYSTICK_ADMIN

npx --no-install openapi-typescript "$TALLYSTICK_SERVER/openapi.json" --output api.ts
npx --no-install tsc -p .
node out/night.js
