"""Loops and branches: scripted functions, torch.cond."""

import torch
from torch import nn

from tests.outside.torch_modules.case import Call, f, i, module

SCRIPT = ("torchscript",)


@torch.jit.script
def _summed(x: torch.Tensor) -> torch.Tensor:
    total = torch.zeros_like(x[0])
    for t in range(x.shape[0]):
        total = total * 0.5 + x[t]
    return total


@torch.jit.script
def _until(x: torch.Tensor) -> torch.Tensor:
    n = 0
    while bool(x.abs().max() > 0.1) and n < 20:
        x = x * 0.7
        n += 1
    return x


@torch.jit.script
def _branch(x: torch.Tensor) -> torch.Tensor:
    if bool(x.sum() > 0):
        y = x * 2
    else:
        y = x - 1
    return y + 1


@torch.jit.script
def _grown(x: torch.Tensor) -> torch.Tensor:
    made: list[torch.Tensor] = []
    state = torch.zeros_like(x[0])
    for t in range(x.shape[0]):
        state = torch.tanh(state + x[t])
        made.append(state)
    return torch.stack(made)


@torch.jit.script
def _nested(x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
    for k in range(int(n)):
        for j in range(k):
            if bool(x[0, 0] > j):
                x = x + 1
            else:
                x = x * 0.5
    return x


class Scripted(nn.Module):
    """A scripted function inside a traced module."""

    def __init__(self, function: object) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x) * 1.5  # pyright: ignore


class ScriptedTwo(nn.Module):
    """A scripted function of two inputs."""

    def forward(self, x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
        return _nested(x, n)


def _cond(x: torch.Tensor) -> torch.Tensor:
    return torch.cond(x.sum() > 0, lambda x: x * 2 + 1, lambda x: x.sin(), (x,))


def _cond_nested(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    def inner(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.cond(y.mean() > 0, lambda x, y: x @ y, lambda x, y: x - 1, (x, y))

    return torch.cond(x.sum() > 0, inner, lambda x, y: x * y, (x, y))


def _while(x: torch.Tensor) -> torch.Tensor:
    loop = torch._higher_order_ops.while_loop
    return loop(lambda n, x: n < 5, lambda n, x: (n + 1, x * 0.9 + 0.1), (torch.tensor(0), x))[1]


def _scan(x: torch.Tensor) -> torch.Tensor:
    from torch._higher_order_ops.scan import scan

    def step(c: torch.Tensor, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        made = torch.tanh(c * 0.5 + x)
        return made, made * 2

    return scan(step, torch.zeros(5), x)[1]


CASES = [
    module("for_sum", lambda: Scripted(_summed), f("L", 5), exporters=SCRIPT),
    module("while_small", lambda: Scripted(_until), f("L", 5), exporters=SCRIPT),
    module("branch", lambda: Scripted(_branch), f("L", 5), exporters=SCRIPT),
    module("grown_list", lambda: Scripted(_grown), f("L", 5), exporters=SCRIPT),
    module("nested", lambda: ScriptedTwo(), f(3, 4), i(3, 5), exporters=SCRIPT),
    module("cond", lambda: Call(_cond), f(4, 5), exporters=("dynamo",)),
    module("cond_nested", lambda: Call(_cond_nested), f(4, 4), f(4, 4), exporters=("dynamo",)),
    module("while_loop", lambda: Call(_while), f(4, 5), exporters=("dynamo",)),
    module("scan", lambda: Call(_scan), f(7, 5), exporters=("dynamo",)),
]
