"""Matrix products, einsum and linear algebra."""

import torch

from tests.outside.torch_modules.case import Case, call, f, i

EINSUMS = {
    "matrix": ("ij,jk->ik", (f("H", 4), f(4, "W"))),
    "batch": ("bij,bjk->bik", (f("N", "H", 4), f("N", 4, "W"))),
    "heads": ("bqhd,bkhd->bhqk", (f("N", "L", 2, 4), f("N", "E", 2, 4))),
    "transposed": ("ij,kj->ki", (f("H", 4), f("W", 4))),
    "outer": ("i,j->ij", (f("H"), f("W"))),
    "inner": ("i,i->", (f("H"), f("H"))),
    "trace": ("ii->", (f(5, 5),)),
    "diagonal": ("bii->bi", (f("N", 5, 5),)),
    "sum": ("ijk->j", (f("N", 5, "L"),)),
    "permute": ("ijk->kij", (f("N", 5, "L"),)),
    "dots": ("...ij,...jk->...ik", (f("N", 3, "H", 4), f(4, "W"))),
    "three": ("bi,ij,bj->b", (f("N", 4), f(4, 5), f("N", 5))),
    "weighted": ("bchw,c->bhw", (f("N", 3, "H", "W"), f(3))),
    "broadcast_sum": ("ab,cd->ad", (f("N", 4), f(3, "L"))),
}


def _spread(x: torch.Tensor) -> torch.Tensor:
    return x @ x.mT + 2 * torch.eye(x.shape[-1])


def _einsum(name: str) -> Case:
    text, inputs = EINSUMS[name]
    return call(f"einsum_{name}", lambda *x: torch.einsum(text, *x), *inputs)


CASES = [
    *(_einsum(name) for name in EINSUMS),
    call("matmul", lambda x, y: x @ y, f("N", "H", 4), f("N", 4, "W")),
    call("matmul_broadcast", lambda x, y: x @ y, f("N", 3, "H", 4), f(3, 4, 5)),
    call("matmul_vector", lambda x, y: x @ y, f("N", "H", 4), f(4)),
    call("vector_matmul", lambda x, y: x @ y, f(4), f("N", 4, "W")),
    call("matmul_whole", lambda x, y: x @ y, i(-9, 9, "H", 4), i(-9, 9, 4, "W")),
    call("mv", lambda x, y: x.mv(y), f("H", 4), f(4)),
    call("bmm", lambda x, y: torch.bmm(x, y), f("N", "H", 4), f("N", 4, "W")),
    call(
        "baddbmm",
        lambda z, x, y: torch.baddbmm(z, x, y, beta=0.5, alpha=2),
        f("N", "H", "W"),
        f("N", "H", 4),
        f("N", 4, "W"),
    ),
    call(
        "addmm",
        lambda z, x, y: torch.addmm(z, x, y, beta=0.3, alpha=1.5),
        f("W"),
        f("H", 4),
        f(4, "W"),
    ),
    call("addmv", lambda z, x, y: torch.addmv(z, x, y), f("H"), f("H", 4), f(4)),
    call("addcmul", lambda x, y, z: torch.addcmul(x, y, z, value=0.4), f("N", 5), f("N", 1), f(5)),
    call(
        "addcdiv",
        lambda x, y, z: torch.addcdiv(x, y, z.abs() + 1, value=0.4),
        f("N", 5),
        f("N", 1),
        f(5),
    ),
    call(
        "tensordot", lambda x, y: torch.tensordot(x, y, ([1, 2], [0, 1])), f("N", 3, 4), f(3, 4, 5)
    ),
    call("outer", lambda x, y: torch.outer(x, y), f("H"), f("W")),
    call("dot", lambda x, y: x.dot(y), f("H"), f("H")),
    call("kron", lambda x, y: torch.kron(x, y), f(2, 3), f(4, 5)),
    call("cross", lambda x, y: torch.linalg.cross(x, y), f("N", 3), f("N", 3)),
    call("trace", lambda x: x.trace(), f(5, 5)),
    call("det", lambda x: torch.linalg.det(x), f("N", 4, 4)),
    call("slogdet", lambda x: torch.linalg.slogdet(_spread(x))[1], f(4, 4)),
    call("inverse", lambda x: torch.linalg.inv(_spread(x)), f(4, 4)),
    call("matrix_power", lambda x: torch.linalg.matrix_power(x, 3), f("N", 4, 4)),
    call("chain", lambda x, y, z: torch.chain_matmul(x, y, z), f(3, 4), f(4, 2), f(2, 5)),
    call("gram", lambda x: x.flatten(2) @ x.flatten(2).mT / x[0].numel(), f("N", 3, "H", "W")),
    call("low_rank", lambda x, a, c: x + (x @ a) @ c * 0.5, f("N", 6), f(6, 2), f(2, 6)),
]
