"""Real models for tests, found inside installed packages; nothing is downloaded.

`python -m tests.models NAME` prints the path of the light model with this name.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

LIGHT_CNNS = ("squeezenet", "resnet50", "shufflenet", "inception_v2")
"""The light models of the onnx package without foreign operators."""

OCR_MODELS = (
    "ch_ppocr_mobile_v2.0_cls_infer",
    "ch_PP-OCRv4_det_infer",
    "ch_PP-OCRv4_rec_infer",
)


def light_model(name: str) -> Path:
    """Return a light model of the onnx package: real structure, splats as weights."""
    return _inside("onnx", f"backend/test/data/light/light_{name}.onnx")


def ocr_model(name: str) -> Path:
    """Return a PP-OCR model with its trained weights."""
    return _inside("rapidocr_onnxruntime", f"models/{name}.onnx")


def _inside(package: str, path: str) -> Path:
    """Return a file of an installed package, without importing the package."""
    spec = importlib.util.find_spec(package)
    assert spec is not None, f"{package} is not installed: run `make setup`"
    assert spec.origin is not None, f"{package} has no folder"
    found = Path(spec.origin).parent / path
    assert found.is_file(), f"{package} has no file {path}"
    return found


if __name__ == "__main__":
    print(light_model(sys.argv[1]))
