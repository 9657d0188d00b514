"""The enclosure of a child: a sandbox, or limits alone.

The server makes an enclosure, and the fork server's child enters it before it reads its task. A
child runs outside a sandbox only if none can be built. It then works only on shipped models, or on
models that the user of this machine trusts: see isolation.py.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Mapping, Sequence
from typing import Any

from sandbox import seal
from sandbox.join import Holder, Ticket
from sandbox.limits import Limits
from sandbox.result import State

NOTHING_CACHED: Mapping[str, str] = {"COMPILARIUM_CACHE": ""}
"""The environment of children: no cache of machine code is shared with anybody."""

_KEPT = (0, 1, 2)
"""The pipes of a child: its task, its messages, and its log."""


class Enclosure:
    """The enclosure of one child, on the side of the server: a sandbox, or limits alone.

    The thread that created the holder must outlive the enclosure.
    """

    def __init__(self, limits: Limits, holder: Holder | None = None) -> None:
        self.limits, self.holder = limits, holder
        self.is_closed = False

    def to_json(self) -> dict[str, Any]:
        """Return the data that the child needs to enter."""
        if self.holder is not None:
            return {"ticket": self.holder.ticket().to_json()}
        # The number of processes would count those of the whole user.
        limits = self.limits.resource_limits().items()
        return {"limits": {k: v for k, v in limits if k != resource.RLIMIT_NPROC}}

    def files(self) -> tuple[int, ...]:
        """Return the descriptors that the child needs to enter."""
        return () if self.holder is None else (self.holder.init_end,)

    def exceeded(self, pid: int) -> State | None:
        """Return the limit that the child exceeds now, or None; None also if a cgroup counts."""
        if self.holder is None or self.holder.has_group:
            return None
        return self.holder.exceeded(pid)

    def ran_out_of_memory(self) -> bool | None:
        """Return whether the limit of memory killed the child; None if that is unknown."""
        if self.holder is None or not self.holder.has_group:
            return None
        return self.holder.ran_out_of_memory()

    def close(self) -> None:
        """Kill everything inside."""
        if self.holder is not None and not self.is_closed:
            self.is_closed = True
            self.holder.close()


def enter(request: Mapping[str, Any], files: Sequence[int]) -> None:
    """Enter the enclosure of a request to fork, in a freshly forked child. Errors: OSError."""
    if "ticket" in request:
        (init_end,) = files
        Ticket.from_json(request["ticket"]).enter(init_end, _KEPT, is_detached=False)
    else:
        seal.close_others(_KEPT)
        seal.limit(os.getpid(), {int(k): tuple(v) for k, v in request["limits"].items()})
