#!/bin/sh
# Installs bubblewrap, which isolates uploads and the code of others, if it is missing and the user has permission.
# Usage: setup/bubblewrap.sh required|advised (if advised, a missing package is no failure)
set -eu
need=$1
if command -v bwrap >/dev/null; then
    exit 0
fi
cd "$(dirname "$0")/.."
sh setup/system_package.sh bubblewrap "it isolates uploads and the code of others" && exit 0
if [ "$need" = advised ]; then
    echo "Without it, the page refuses all models except its samples: see docs/sandbox.md." >&2
    exit 0
fi
exit 1
