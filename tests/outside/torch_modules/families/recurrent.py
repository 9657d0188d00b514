"""RNN, LSTM and GRU: layers, directions, projections, initial states, cells."""

from collections.abc import Callable

import torch
from torch import nn

from tests.outside.torch_modules.case import Case, call, f, module

KINDS = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}

VARIANTS = {
    "plain": {},
    "batch_first": {"batch_first": True},
    "layers": {"num_layers": 3},
    "both_ways": {"bidirectional": True, "batch_first": True},
    "both_ways_layers": {"bidirectional": True, "num_layers": 2},
    "unbiased": {"bias": False},
}


def _made(kind: str) -> list[Case]:
    cases: list[Case] = []
    for name, how in VARIANTS.items():
        shape = ("N", "D", 5) if how.get("batch_first") else ("D", "N", 5)
        cases.append(module(f"{kind}_{name}", lambda how=how: KINDS[kind](5, 6, **how), f(*shape)))
    return cases


class Stateful(nn.Module):
    """A recurrent layer whose initial state is an input."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: torch.Tensor, h: torch.Tensor) -> object:
        return self.layer(x, (h, h * 0.5) if isinstance(self.layer, nn.LSTM) else h)


def _stateful(layer: Callable[[], nn.Module]) -> Callable[[], nn.Module]:
    return lambda: Stateful(layer())


class Cells(nn.Module):
    """Cells called in a Python loop."""

    def __init__(self, cell: nn.Module) -> None:
        super().__init__()
        self.cell = cell

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        state = None
        made = []
        for t in range(x.shape[0]):
            state = self.cell(x[t]) if state is None else self.cell(x[t], state)
            made.append(state[0] if isinstance(state, tuple) else state)
        return torch.stack(made)


CASES = [
    *(case for kind in KINDS for case in _made(kind)),
    module("rnn_relu", lambda: nn.RNN(5, 6, nonlinearity="relu"), f("D", "N", 5)),
    module("lstm_projection", lambda: nn.LSTM(5, 6, proj_size=3), f("D", "N", 5)),
    module(
        "lstm_projection_layers",
        lambda: nn.LSTM(5, 6, num_layers=2, proj_size=3, batch_first=True),
        f("N", "D", 5),
    ),
    module(
        "lstm_projection_both_ways",
        lambda: nn.LSTM(5, 6, proj_size=3, bidirectional=True),
        f("D", "N", 5),
    ),
    module("lstm_unbatched", lambda: nn.LSTM(5, 6), f("D", 5)),
    module("gru_given_state", _stateful(lambda: nn.GRU(5, 6)), f("D", "N", 5), f(1, "N", 6)),
    module(
        "lstm_given_state",
        _stateful(lambda: nn.LSTM(5, 6, bidirectional=True)),
        f("D", "N", 5),
        f(2, "N", 6),
    ),
    module("rnn_cells", lambda: Cells(nn.RNNCell(5, 6)), f(4, "N", 5)),
    module("lstm_cells", lambda: Cells(nn.LSTMCell(5, 6)), f(4, "N", 5)),
    module("gru_cells", lambda: Cells(nn.GRUCell(5, 6)), f(4, "N", 5)),
    module("stacked_kinds", lambda: Stack(), f("D", "N", 5)),
    call("one_step", lambda x: torch.tanh(x[:1]) * 2, f("D", "N", 5)),
]


class Stack(nn.Module):
    """An LSTM after a GRU."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.GRU(5, 4, bidirectional=True), nn.LSTM(8, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(x)[0])[0][-1]
