"""Assembler of classic BPF programs for system-call filters.

A filter sees a record: the number of the call, the architecture, the instruction pointer, and six
arguments of 64 bits. Programs read it in words of 32 bits.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

CALL_NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16
"""Offsets in the record, in bytes."""

LOAD, JUMP_EQUAL, JUMP_AT_LEAST, JUMP_BITS, RETURN, AND = 0x20, 0x15, 0x35, 0x45, 0x06, 0x54

ALLOW, KILL_PROCESS, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
LONGEST_JUMP = 255


def fail_with(errno: int) -> int:
    """Return the value of a filter that lets the call fail with this error number."""
    return _ERRNO | errno


class Instruction(NamedTuple):
    """An instruction: operation, relative jumps if true and if false, and a constant."""

    operation: int
    if_true: int
    if_false: int
    constant: int


def load(offset: int) -> Instruction:
    """Load a word of the record."""
    return Instruction(LOAD, 0, 0, offset)


def low_word(argument: int) -> int:
    """Return the offset of the low 32 bits of an argument, on a little-endian machine."""
    return ARGUMENTS + 8 * argument


def give(value: int) -> Instruction:
    """End the program with this value."""
    return Instruction(RETURN, 0, 0, value)


def keep_bits(mask: int) -> Instruction:
    """Clear all other bits of the loaded word."""
    return Instruction(AND, 0, 0, mask)


def jump(operation: int, constant: int, if_true: int, if_false: int) -> Instruction:
    """Compare the loaded word with a constant, and skip instructions."""
    assert 0 <= if_true <= LONGEST_JUMP, f"a jump over {if_true} instructions does not fit"
    assert 0 <= if_false <= LONGEST_JUMP, f"a jump over {if_false} instructions does not fit"
    return Instruction(operation, if_true, if_false, constant)


def assemble(program: Sequence[Instruction]) -> bytes:
    """Return the bytes that the kernel reads."""
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
