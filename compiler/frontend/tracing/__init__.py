"""Models as Python functions over symbolic tensors; an operator is a function of the same name."""

from compiler.frontend.tracing.model import model
from compiler.frontend.tracing.tensor import Tensor
from compiler.frontend.tracing.tracing import Tracing, TracingLimits

__all__ = ["Tensor", "Tracing", "TracingLimits", "model"]
