"""Models as Python functions over symbolic tensors; operators are functions of the same name."""

from compiler.frontend.tracing.model import model
from compiler.frontend.tracing.tensor import Tensor
from compiler.frontend.tracing.tracing import Tracing, TracingLimits

__all__ = ["Tensor", "Tracing", "TracingLimits", "model"]
