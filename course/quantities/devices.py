"""Quantities of a graph on the devices of a platform: a simulated run of its kernels.

Devices and links are models, so these quantities are equal on every machine.
"""

from __future__ import annotations

from functools import cached_property

from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.place.of_graph import tasks_of
from compiler.place.place import place
from compiler.place.platform import Platform
from compiler.place.platform_text import load_platform
from compiler.place.problem import one_device_seconds
from compiler.place.schedule import Schedule
from compiler.place.simulate import Conduct
from compiler.place.tasks import TaskGraph
from course.quantities.quantity import quantity
from course.quantities.subject import Subject


@dataclass(frozen=True, slots=True)
class Devices:
    """A platform and a scheduler by name, and the prefetch distance (-1: as early as possible)."""

    platform: str
    scheduler: str
    ahead: int


@dataclass
class PlacedSubject(Subject):
    """A graph after its passes, with the devices on which its kernels run."""

    devices: Devices | None = None

    @cached_property
    def platform(self) -> Platform:
        """The platform with the devices. Errors: E-LESSON-BLOCK without devices."""
        if self.devices is None:
            message = "the case names no devices: give it devices = NAME"
            raise CompileError("E-LESSON-BLOCK", message)
        return load_platform(self.devices.platform)

    @cached_property
    def tasks(self) -> TaskGraph:
        """The kernels as tasks."""
        return tasks_of(self.graph)

    @cached_property
    def schedule(self) -> Schedule:
        """The simulated run on the devices. Errors: E-LESSON-BLOCK without devices."""
        platform, devices = self.platform, self.devices
        assert devices is not None, "the platform is that of the devices"
        conduct = Conduct(None if devices.ahead < 0 else devices.ahead)
        return place(self.tasks, platform, scheduler=devices.scheduler, conduct=conduct)


def _placed(subject: Subject) -> PlacedSubject:
    assert isinstance(subject, PlacedSubject), f"only cases of experiments have devices: {subject}"
    return subject


@quantity("s", needs="devices")
def makespan(subject: Subject) -> float:
    """The simulated time from the start of a run to its last task or transfer."""
    return _placed(subject).schedule.makespan_seconds


@quantity("s", needs="devices")
def makespan_bound(subject: Subject) -> float:
    """A lower bound of the makespan of every schedule of the same tasks."""
    return _placed(subject).schedule.bound_seconds


@quantity("s", needs="devices")
def one_device(subject: Subject) -> float:
    """The time of all tasks on the fastest single device at the main memory."""
    placed = _placed(subject)
    return one_device_seconds(placed.tasks, placed.platform) or 0.0


@quantity("ratio", needs="devices")
def device_gain(subject: Subject) -> float:
    """The time of the single device, divided by the makespan."""
    return one_device(subject) / max(makespan(subject), 1e-15)


@quantity("count", needs="devices")
def transfers(subject: Subject) -> float:
    """The number of transfers between memories."""
    return len(_placed(subject).schedule.moves)


@quantity("B", needs="devices")
def transferred_bytes(subject: Subject) -> float:
    """The bytes of all transfers between memories."""
    placed = _placed(subject)
    datum = placed.tasks.datum
    return sum(datum[m.datum].nbytes for m in placed.schedule.moves)
