"""Payloads of other runtimes, and of comparisons with them."""

from __future__ import annotations

import math
from collections.abc import Mapping

from app.wire import VERSION
from app.wire.profiles import disturbance
from app.wire.shapes import peers as shapes
from compiler.bench import peers
from compiler.bench.disturbance import Disturbance
from compiler.bench.peers import Peer
from compiler.bench.versus import Versus
from compiler.figures.times import run_times

TITLES = {
    "onnxruntime": "ONNX Runtime",
    "openvino": "OpenVINO (f32)",
    "openvino-default": "OpenVINO (its default precision)",
}


def known() -> shapes.Peers:
    """Return all peers, and whether they are installed on the server."""
    return {
        "version": VERSION,
        "peers": [
            {
                "name": name,
                "title": TITLES.get(name, name),
                "is_installed": peers.installed(name),
                "install": f"pip install {peers.package_of(name)}",
            }
            for name in peers.names()
        ],
    }


def peer_comparison(
    peer: Peer,
    found: Versus,
    error: float,
    options: Mapping[str, int],
    disturbed: Disturbance,
) -> shapes.PeerComparison:
    """Return the verdict on a peer, with the times of both programs."""
    value, low, high = found.ratio
    return {
        "version": VERSION,
        "peer": peer.name,
        "title": TITLES.get(peer.name, peer.name),
        "peer_version": peer.version,
        "verdict": found.verdict,
        "ratio": value,
        "low": low,
        "high": high,
        "n_blocks": found.n_blocks,
        "threads": options["threads"],
        "seed": options["seed"],
        "relative_error": error if math.isfinite(error) else None,
        "disturbance": disturbance(disturbed),
        "ours": run_times(found.a[0]),
        "theirs": run_times(found.b[0]),
    }
