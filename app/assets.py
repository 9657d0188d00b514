"""Routes of the page and its bundle; clients cache files forever if the URL contains a digest."""

from __future__ import annotations

import hashlib
import mimetypes
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from flask import (
    Blueprint,
    Flask,
    Response,
    current_app,
    render_template,
    request,
    send_from_directory,
)
from markupsafe import Markup, escape
from werkzeug.security import safe_join

from app import errors, security
from app.compression import Constant
from app.glossary import SECTIONS, declared_sections, terms
from app.learn.pages import first_lesson
from app.paths import site_folder
from app.wire.problems import failure
from app.wire.shapes.facts import Failure
from app.wire.shapes.shared_links import SharedLink
from app.wire.shared_links import link_payload
from compiler import __version__
from compiler.errors import CompileError
from compiler.figures.listing import figures
from compiler.tuning.tune import SEARCHES, missing_for
from compiler.units import bytes_text

bp = Blueprint("page", __name__)

_FOR_EVER_S = 365 * 24 * 3600
ENCODINGS = {"br": ".br", "gzip": ".gz"}
"""The suffixes of compressed files in the bundle by encoding, the best encoding first."""
_HASHED = re.compile(r"chunks/.*-[A-Z0-9]{8}\.js")
"""Names that the bundler derives from the content."""
_CODE = re.compile(r"`([^`]+)`")
_digests: dict[tuple[str, int, int], str] = {}


def register(app: Flask) -> None:
    """Serve the pages, and give templates their functions and filters.

    The filter `bytes_text` writes a number of bytes with its unit, and `code` marks names as code.
    """
    app.register_blueprint(bp)
    app.add_template_global(asset)
    app.add_template_global(templates_in)
    app.add_template_global(searches)
    app.add_template_global(figures)
    app.add_template_global(terms, "glossary_terms")
    app.add_template_filter(bytes_text)
    app.add_template_filter(code)


def asset(name: str) -> str:
    """Return the URL of a bundled file, with the digest of its content if the file exists."""
    digest = _digest(site_folder("static") / "dist" / name)
    return f"/static/dist/{name}" + (f"?v={digest}" if digest else "")


def templates_in(folder: str) -> list[str]:
    """Return the names of the templates in a folder, in alphabetical order."""
    return current_app.jinja_env.list_templates(filter_func=lambda n: n.startswith(f"{folder}/"))


def searches() -> dict[str, str]:
    """Map each schedule search to the command that installs its missing packages, else to ""."""
    return {search: missing_for(search) for search in SEARCHES}


def code(text: str) -> Markup:
    """Return a text as markup in which the words between backticks are code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))


def _digest(path: Path) -> str:
    """Return a file's content digest, cached by date and size; "" if the file does not exist."""
    try:
        stat = path.stat()
    except OSError:
        return ""
    key = (str(path), stat.st_mtime_ns, stat.st_size)
    if key not in _digests:
        _digests[key] = hashlib.blake2b(path.read_bytes(), digest_size=8).hexdigest()
    return _digests[key]


@bp.get("/")
def page() -> Response:
    """Return the playground."""
    limits = current_app.config["SETTINGS"].limits()
    made = _rendered("playground.html", PAGE_FILES, limits=limits)
    return made.answer(is_named=False)  # the first answer sets a cookie


PAGE_FILES = ("main.js", "main.css", "icon.svg", "worker.js", "reader.js")
"""The files of the bundle that the page names."""
VIEW_FILES = ("embed.js", "main.css", "icon.svg", "worker.js", "reader.js")
"""The files of the bundle that an embedded view names."""


def _rendered(template: str, files: Sequence[str], **values: Any) -> Constant:
    """Return a page that names these files; a new build of the bundle renders it again."""
    state: tuple[str, ...] = (*map(asset, files), first_lesson())
    kept: tuple[tuple[str, ...], Constant] | None = current_app.extensions.get(template)
    if kept is not None and kept[0] == state and not current_app.debug:
        return kept[1]
    made = Constant(render_template(template, **values).encode(), "text/html")
    current_app.extensions[template] = (state, made)
    return made


@bp.get("/glossary")
def glossary() -> str:
    """Return the glossary, with an anchor for each term."""
    return render_template("glossary.html", sections=(*SECTIONS, *declared_sections()))


@bp.get("/errors")
def error_pages() -> str:
    """Return the meanings of all error codes."""
    return render_template("errors.html", codes=errors.codes(), status_of=errors.status_of)


@bp.get("/errors/<code>")
def error_page(code: str) -> str:
    """Return the meaning of an error code: the page whose address is the type of the error.

    Errors: E-REQUEST-UNKNOWN.
    """
    found = [each for each in errors.codes() if each["code"] == code]
    if not found:
        raise CompileError("E-REQUEST-UNKNOWN", f"there is no error code {code[:60]!r}")
    return render_template("errors.html", codes=found, status_of=errors.status_of)


@bp.get("/s/<link_id>")
def shared_page(link_id: str) -> Response:
    """Return the playground in the state of a short link, or with the error for an unknown link."""
    found, status = shared_link(link_id)
    text = render_template(
        "playground.html", limits=current_app.config["SETTINGS"].limits(), link=found
    )
    return Response(text, status)


@bp.get("/embed")
def own_view() -> Response:
    """Return the view of the state in the URL's fragment, for frames in pages of this site."""
    made = _rendered("embed.html", VIEW_FILES, is_own=True)
    return security.frame_here(made.answer())


@bp.get("/embed/s/<link_id>")
def embedded(link_id: str) -> Response:
    """Return the view of a short link, for embedding in any page."""
    found, status = shared_link(link_id)
    return security.frame_anywhere(Response(render_template("embed.html", link=found), status))


def shared_link(link_id: str) -> tuple[SharedLink | Failure, int]:
    """Return the link's payload for the page, and the HTTP status."""
    try:
        return link_payload(current_app.extensions["links"].find(link_id), __version__), 200
    except CompileError as e:
        return failure(e, 404), 404


@bp.get("/static/dist/<path:name>")
def bundle(name: str) -> Response:
    """Return a bundled file. Errors: E-REQUEST-UNKNOWN for a missing file or a path outside the
    folder."""
    folder = site_folder("static") / "dist"
    encoding = _encoding(folder, name)
    response = send_from_directory(
        folder,
        name + ENCODINGS.get(encoding, ""),
        mimetype=mimetypes.guess_type(name)[0],
        conditional=False,
        etag=False,
    )
    response.vary.add("Accept-Encoding")
    if encoding:
        response.headers["Content-Encoding"] = encoding
    digest = _digest(folder / name)
    response.set_etag(f"{digest}-{encoding}" if encoding else digest)
    if request.args.get("v") == digest or _HASHED.fullmatch(name):
        response.cache_control.no_cache = None
        response.cache_control.public = True
        response.cache_control.max_age = _FOR_EVER_S
        response.cache_control.immutable = True
    return cast(Response, response.make_conditional(request))


def _encoding(folder: Path, name: str) -> str:
    """Return the best encoding that the client accepts and the build has stored; "" for none."""
    path = safe_join(str(folder), name)
    if path is None:
        return ""
    stored = (e for e, suffix in ENCODINGS.items() if Path(path + suffix).is_file())
    return next((e for e in stored if request.accept_encodings[e] > 0), "")
