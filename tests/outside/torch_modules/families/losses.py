"""Losses, reduced by mean, by sum, or not at all."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.outside.torch_modules.case import Case, call, f, i, module, unit

PAIRS = {
    "mse": nn.MSELoss,
    "l1": nn.L1Loss,
    "smooth_l1": lambda: nn.SmoothL1Loss(beta=0.4),
    "huber": lambda: nn.HuberLoss(delta=0.7),
    "bce_logits": nn.BCEWithLogitsLoss,
    "mse_none": lambda: nn.MSELoss(reduction="none"),
    "l1_sum": lambda: nn.L1Loss(reduction="sum"),
    "kl": lambda: nn.KLDivLoss(reduction="batchmean", log_target=True),
    "poisson": nn.PoissonNLLLoss,
    "soft_margin": nn.SoftMarginLoss,
}


def _classes() -> list[Case]:
    plain, image = (f("N", 6), i(0, 6, "N")), (f("N", 6, "H", "W"), i(0, 6, "N", "H", "W"))
    return [
        module("cross_entropy", nn.CrossEntropyLoss, *plain),
        module("cross_entropy_none", lambda: nn.CrossEntropyLoss(reduction="none"), *image),
        module("cross_entropy_ignore", lambda: nn.CrossEntropyLoss(ignore_index=2), *image),
        module(
            "cross_entropy_weights",
            lambda: nn.CrossEntropyLoss(weight=torch.linspace(0.5, 2, 6)),
            *image,
        ),
        module("cross_entropy_smooth", lambda: nn.CrossEntropyLoss(label_smoothing=0.1), *plain),
        module("cross_entropy_sum", lambda: nn.CrossEntropyLoss(reduction="sum"), *image),
        call("nll", lambda x, y: F.nll_loss(F.log_softmax(x, 1), y), *plain),
        call(
            "nll_image",
            lambda x, y: F.nll_loss(F.log_softmax(x, 1), y, ignore_index=1, reduction="sum"),
            *image,
        ),
    ]


CASES = [
    *(module(name, make, f("N", 5), f("N", 5)) for name, make in PAIRS.items()),
    *_classes(),
    module("bce", nn.BCELoss, unit("N", 5), unit("N", 5)),
    module(
        "bce_weighted",
        lambda: nn.BCEWithLogitsLoss(pos_weight=torch.tensor([1.0, 2.0, 0.5])),
        f("N", 3),
        unit("N", 3),
    ),
    module("gaussian", nn.GaussianNLLLoss, f("N", 5), f("N", 5), unit("N", 5)),
    call(
        "margin_ranking",
        lambda x, y, z: F.margin_ranking_loss(x, y, z.sign(), margin=0.2),
        f("N"),
        f("N"),
        f("N"),
    ),
    call("hinge_embedding", lambda x, y: F.hinge_embedding_loss(x, y.sign()), f("N", 5), f("N", 5)),
    call(
        "cosine_embedding",
        lambda x, y, z: F.cosine_embedding_loss(x, y, z.sign(), margin=0.1),
        f("N", 5),
        f("N", 5),
        f("N"),
    ),
    module("triplet", nn.TripletMarginLoss, f("N", 5), f("N", 5), f("N", 5)),
    call("multi_margin", lambda x, y: F.multi_margin_loss(x, y), f(3, 5), i(0, 5, 3)),
    call(
        "multilabel_soft_margin",
        lambda x, y: F.multilabel_soft_margin_loss(x, y),
        f("N", 5),
        unit("N", 5),
    ),
]
