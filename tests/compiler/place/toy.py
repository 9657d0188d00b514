"""A small platform whose times can be computed by hand."""

from compiler.place.platform import Platform
from compiler.place.platform_text import parse_platform

MACHINE = """
name = "toy"
home = "ram"

[[memory]]
name = "ram"

[[memory]]
name = "sram"
nbytes = {room}
keeps_weights = false

[[device]]
name = "cpu"
memory = "ram"
flops_per_second = 1.0
bytes_per_second = 1.0

[[device]]
name = "npu"
memory = "sram"
flops_per_second = 1.0
bytes_per_second = 1.0
operators = ["conv"]

[[link]]
name = "dma"
joins = ["ram", "sram"]
bytes_per_second = 100.0
"""


def toy(room: int) -> Platform:
    """Return a processor with all operators, and an accelerator for `conv` with `room` bytes."""
    return parse_platform(MACHINE.format(room=room))
