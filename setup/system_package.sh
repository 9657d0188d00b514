#!/bin/sh
# Installs one system package if the user has permission; otherwise prints a remedy and fails.
# Usage: setup/system_package.sh PACKAGE PURPOSE
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
    echo "The system package $package is required: $purpose." >&2
    echo "hint: sudo apt-get install $package (or your system's equivalent), then repeat make" >&2
    exit 1
fi
echo "Installing the system package $package: $purpose." >&2
export DEBIAN_FRONTEND=noninteractive
install_it() { $as_root apt-get install --yes --no-install-recommends "$package" >&2; }
# On a new machine the package index may be empty, so update it after a failure and try again.
install_it || { $as_root apt-get update >&2 && install_it; }
