"""Operators that are never generated, with the reasons."""

from __future__ import annotations

NO_KERNEL = "ONNX Runtime's CPU provider has no kernel for it"
RANDOM = "what it gives is not defined"

NOT_DRAWN: dict[str, str] = {
    "Bernoulli": RANDOM,
    "Multinomial": RANDOM,
    "RandomNormal": RANDOM,
    "RandomNormalLike": RANDOM,
    "RandomUniform": RANDOM,
    "RandomUniformLike": RANDOM,
    "CausalConvWithState": NO_KERNEL,
    "LinearAttention": NO_KERNEL,
    "SwiGLU": NO_KERNEL,
    "ImageDecoder": NO_KERNEL,
    "Upsample": "removed in opset 10; Resize has its modes",
}
"""Operators of ai.onnx that no family generates, with the reasons."""
