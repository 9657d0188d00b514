"""Security headers of every answer, and refusal of cross-site changes."""

from __future__ import annotations

from urllib.parse import urlsplit

from flask import Flask, Response, request

from compiler.errors import CompileError

# Graphviz is WebAssembly ('wasm-unsafe-eval') in a worker. Everything comes from the server itself.
CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self' 'wasm-unsafe-eval'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "font-src 'self'",
        "connect-src 'self'",
        "worker-src 'self' blob:",
        "manifest-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "object-src 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
_CHANGING = frozenset({"POST", "PUT", "PATCH", "DELETE"})


def register(app: Flask) -> None:
    """Add security headers to every answer, and refuse changes requested by pages of other
    sites."""
    app.before_request(_refuse_foreign_changes)
    app.after_request(_add_headers)


def frame_anywhere(response: Response) -> Response:
    """Let pages of other sites show this answer in a frame, and permit them nothing else."""
    return _frame_in(response, "*")


def frame_here(response: Response) -> Response:
    """Let pages of this site show this answer in a frame; other sites cannot."""
    return _frame_in(response, "'self'")


def show_own_frames(response: Response) -> Response:
    """Let this page show frames of this site, but of no other site."""
    response.headers["Content-Security-Policy"] = f"{CONTENT_SECURITY_POLICY}; frame-src 'self'"
    return response


def _frame_in(response: Response, pages: str) -> Response:
    """Permit these pages to show an answer in a frame."""
    policy = CONTENT_SECURITY_POLICY.replace("frame-ancestors 'none'", f"frame-ancestors {pages}")
    response.headers["Content-Security-Policy"] = policy
    return response


def _add_headers(response: Response) -> Response:
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    if request.is_secure:
        response.headers.setdefault("Strict-Transport-Security", "max-age=31536000")
    return response


def _refuse_foreign_changes() -> None:
    """Refuse changes from other sites; only browsers send the headers that name the site.

    Errors: E-REQUEST-ORIGIN.
    """
    if request.method not in _CHANGING:
        return
    site = request.headers.get("Sec-Fetch-Site", "")
    origin = request.headers.get("Origin", "")
    foreign = site not in ("", "same-origin", "none") or (
        not site and bool(origin) and urlsplit(origin).netloc != request.host
    )
    if foreign:
        raise CompileError("E-REQUEST-ORIGIN", "the request comes from a page of another site")
