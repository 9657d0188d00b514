"""Resize that uses the rounded length of the result in the modes defined by this length."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx.numpy_helper import saturate_cast
from onnx.reference.ops import op_resize

from compiler.ops.images.resize_scales import meant, scaled_size


class Resize(op_resize.Resize):
    """Resize that processes one axis after another, each with its scale and new length."""

    def _run(self, X: Any, *given: Any, **how: Any) -> tuple[Any]:  # pyright: ignore[reportIncompatibleMethodOverride]
        roi, scales, sizes = (*given, None, None, None)[:3]
        if scales is None or not scales.size:
            scales = None
        policy = how.pop("keep_aspect_ratio_policy") or "stretch"
        axes = [a % X.ndim for a in how.pop("axes") or range(X.ndim)]
        targets = _targets([X.shape[a] for a in axes], scales, sizes, policy)
        kernel = _kernel(how.pop("mode"), how.pop("antialias"), how)
        crops = np.asarray(roi).reshape(2, -1).T if roi is not None and roi.size else None
        made = X.astype(np.float64)
        for n, (axis, (size, scale)) in enumerate(zip(axes, targets, strict=True)):
            crop = None if crops is None else crops[n]
            if size != X.shape[axis] or scale != 1 or _is_cropped(crop, how):
                made = _along(made, axis, size, scale, kernel, crop, how)
        return (saturate_cast(made, X.dtype),)


def _is_cropped(crop: Any, how: dict[str, Any]) -> bool:
    return crop is not None and how["coordinate_transformation_mode"] == "tf_crop_and_resize"


def _along(
    x: Any, axis: int, size: int, scale: float, kernel: Any, crop: Any, how: dict[str, Any]
) -> Any:
    """Resize one axis to this length; onnx.reference would use scale * length instead."""
    mode = how["coordinate_transformation_mode"]
    if mode == "pytorch_half_pixel" and size == 1:
        mode = "align_corners"  # for length 1, the coordinate is 0 in both modes
    if mode in ("align_corners", "tf_crop_and_resize"):
        weigh = kernel
        kernel = lambda ratio, _: weigh(ratio, scale)  # noqa: E731
        scale_of_length = size / x.shape[axis]
    else:
        scale_of_length = scale
    return op_resize._interpolate_1d_along_axis(
        x,
        axis,
        scale_of_length,
        size,
        kernel,
        roi=crop,
        exclude_outside=bool(how["exclude_outside"]),
        extrapolation_value=how["extrapolation_value"],
        coordinate_transformation_mode=mode,
    )


def _targets(old: list[int], scales: Any, sizes: Any, policy: str) -> list[tuple[int, float]]:
    """Return the new length and the scale of each axis."""
    if scales is not None:
        exact = [meant(s) for s in scales]
        return [(int(scaled_size(n, s)), float(s)) for n, s in zip(old, exact, strict=True)]
    factors = [int(new) / n for new, n in zip(sizes, old, strict=True)]
    if policy == "stretch":
        return [(int(new), f) for new, f in zip(sizes, factors, strict=True)]
    factor = min(factors) if policy == "not_larger" else max(factors)
    return [(int(factor * n + 0.5), factor) for n in old]


def _kernel(mode: str, is_smooth: int, how: dict[str, Any]) -> Any:
    """Return a function from a coordinate's fraction and the scale to the weights of neighbours."""
    a, rounding = how["cubic_coeff_a"], how["nearest_mode"]
    match mode, bool(is_smooth):
        case "nearest", False:
            return lambda ratio, _: op_resize._nearest_coeffs(ratio, mode=rounding)
        case "linear", smooth:
            return op_resize._linear_coeffs_antialias if smooth else op_resize._linear_coeffs
        case "cubic", smooth:
            cubic = op_resize._cubic_coeffs_antialias if smooth else op_resize._cubic_coeffs
            return lambda ratio, scale: cubic(ratio, scale, A=a)
        case _:
            raise ValueError(f"mode {mode!r} with antialias={is_smooth}")
