#!/bin/sh
# Installs one system package where this user may, and otherwise says what to do and fails.
# Usage: setup/system_package.sh PACKAGE "what it is needed for"
set -eu
package=$1
purpose=$2

if [ "$(id -u)" = 0 ]; then
    as_root=''
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    as_root='sudo -n'
else
    as_root='none'
fi
if [ "$as_root" = none ] || ! command -v apt-get >/dev/null; then
    echo "$package is needed: $purpose." >&2
    echo "hint: sudo apt-get install $package (or your system's package of that kind), then make again" >&2
    exit 1
fi
echo "Installing the system package $package: $purpose." >&2
export DEBIAN_FRONTEND=noninteractive
install_it() { $as_root apt-get install --yes --no-install-recommends "$package" >&2; }
# A machine that never asked for the list of packages knows none, so ask once and try again.
install_it || { $as_root apt-get update >&2 && install_it; }
