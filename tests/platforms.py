"""What system and processor say of this machine, whatever the compiler makes of it.

Tests are skipped by these facts alone: a compiler that misjudges a machine then fails its tests
instead of hiding them.
"""

from __future__ import annotations

import platform
import sys

import pytest

IS_LINUX = sys.platform == "linux"
OWN_THREADS = IS_LINUX and platform.machine() in {"x86_64", "aarch64"}
"""Whether threads of our own are promised here."""

needs_own_threads = pytest.mark.skipif(not OWN_THREADS, reason="threads come from OpenMP here")
needs_fork = pytest.mark.skipif(not IS_LINUX, reason="elsewhere processes may not be forked")
needs_affinity = pytest.mark.skipif(not IS_LINUX, reason="elsewhere processors cannot be chosen")
