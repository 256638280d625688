#!/usr/bin/env bash
# A small demo with the embedded model, asked now: `bash scripts/ci_live.sh [FOLDER]`. Fewer calls with USERCAL_DEMO_CALLS.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=${1:-$(mktemp -d)/live}
"${PYTHON:-python3}" demo.py --live --no-open --calls "${USERCAL_DEMO_CALLS:-60}" --out "$folder"
find "$folder" -name 'report*.html' -size +10k | grep --max-count 1 .
