"""The page, and the files of its bundle: addresses with a digest are cached for ever."""

from __future__ import annotations

import hashlib
from pathlib import Path

from flask import (
    Blueprint,
    Flask,
    Response,
    current_app,
    render_template,
    request,
    send_from_directory,
)

from app import security
from app.paths import site_folder
from app.wire.problems import failure
from app.wire.shapes.facts import Failure
from app.wire.shapes.shared_links import SharedLink
from app.wire.shared_links import link_payload
from compiler import __version__
from compiler.errors import CompileError

bp = Blueprint("page", __name__)

_FOR_EVER_S = 365 * 24 * 3600
_digests: dict[tuple[str, int, int], str] = {}


def register(app: Flask) -> None:
    """Serve the page, and give templates the functions `asset` and `templates_in`."""
    app.register_blueprint(bp)
    app.add_template_global(asset)
    app.add_template_global(templates_in)


def asset(name: str) -> str:
    """The address of a file of the bundle, with the digest of its content when it is there."""
    digest = _digest(site_folder("static") / "dist" / name)
    return f"/static/dist/{name}" + (f"?v={digest}" if digest else "")


def templates_in(folder: str) -> list[str]:
    """Names of the templates in a folder, in the order of the alphabet."""
    return current_app.jinja_env.list_templates(filter_func=lambda n: n.startswith(f"{folder}/"))


def _digest(path: Path) -> str:
    """Content digest of a file, computed again when its date or size changes; "" without a file."""
    try:
        stat = path.stat()
    except OSError:
        return ""
    key = (str(path), stat.st_mtime_ns, stat.st_size)
    if key not in _digests:
        _digests[key] = hashlib.blake2b(path.read_bytes(), digest_size=8).hexdigest()
    return _digests[key]


@bp.get("/")
def page() -> str:
    """The playground."""
    return render_template("playground.html", limits=current_app.config["SETTINGS"].limits())


@bp.get("/s/<link_id>")
def shared_page(link_id: str) -> Response:
    """The playground in the state of a short link; of an unknown one, with what is wrong."""
    found, status = shared_link(link_id)
    text = render_template(
        "playground.html", limits=current_app.config["SETTINGS"].limits(), link=found
    )
    return Response(text, status)


@bp.get("/embed/s/<link_id>")
def embedded(link_id: str) -> Response:
    """The view of a short link, to be looked at inside any other page."""
    found, status = shared_link(link_id)
    return security.frame_anywhere(Response(render_template("embed.html", link=found), status))


def shared_link(link_id: str) -> tuple[SharedLink | Failure, int]:
    """What a page gets to know of a link, and the status to answer with."""
    try:
        return link_payload(current_app.extensions["links"].find(link_id), __version__), 200
    except CompileError as e:
        return failure(e), 404


@bp.get("/static/dist/<path:name>")
def bundle(name: str) -> Response:
    """A file of the bundle. Errors: E-REQUEST-UNKNOWN, also for a path that leaves the folder."""
    folder = site_folder("static") / "dist"
    response = send_from_directory(folder, name, conditional=True, etag=True)
    wanted = request.args.get("v", "")
    if wanted and wanted == _digest(folder / name):
        response.cache_control.no_cache = None
        response.cache_control.public = True
        response.cache_control.max_age = _FOR_EVER_S
        response.cache_control.immutable = True
    return response
