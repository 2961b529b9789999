#!/usr/bin/env bash
# Copies the pinned libraries from npm into ../web, as the program serves them,
# and writes down their hashes. Change a version in package.json, run this, and
# read what changed. Running the program needs none of it.
set -euo pipefail
cd "$(dirname "$0")"
npm ci --ignore-scripts --no-audit --no-fund --silent
web=../web
mkdir -p "$web"

# Maps to source files are not served; a bare name becomes the file beside it.
plain() { sed -e '/^\/\/# sourceMappingURL=/d' -e 's/from"preact"/from"\.\/preact.js"/g' "$1"; }
plain node_modules/preact/dist/preact.mjs > "$web/preact.js"
plain node_modules/preact/hooks/dist/hooks.mjs > "$web/preact-hooks.js"
plain node_modules/htm/dist/htm.mjs > "$web/htm.js"
plain node_modules/qrcode-generator/dist/qrcode.mjs > "$web/qrcode.js"
{ cat node_modules/uplot/dist/uPlot.iife.min.js; echo 'export default uPlot;'; } > "$web/uplot.js"
cp node_modules/uplot/dist/uPlot.min.css "$web/uplot.css"
(cd "$web" && sha256sum preact.js preact-hooks.js htm.js qrcode.js uplot.js uplot.css) > hashes.txt

# Beside each library stands its licence.
for name in preact htm uplot qrcode-generator; do
    printf '%s %s\n' "$name" "$(node -p "require('./node_modules/$name/package.json').version")"
    cat node_modules/$name/LICENSE* 2>/dev/null || printf 'MIT, see the head of the file\n'
    echo
done > "$web/licences.txt"

# The checker that anybody can run from a file is the one the pages run.
cp ../../../docs/verify/verify.mjs "$web/verify.js"
