"""SequenceInsert that accepts the length of the sequence as a position, and then appends."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx.reference.ops import op_sequence_insert


class SequenceInsert(op_sequence_insert.SequenceInsert):
    """SequenceInsert that appends if the position equals the number of tensors."""

    def _run(self, S: Any, T: Any, ind: Any = None) -> tuple[list[Any]]:
        parts = list(S)
        at = len(parts) if ind is None else int(np.asarray(ind).reshape(-1)[0])
        parts.insert(at, T)
        return (parts,)
