"""Orders of tasks that reduce peak memory; see docs/operator-order.md."""

from compiler.memory.orders.best import Ordered, order_tasks
from compiler.memory.orders.cp_sat import cp_sat
from compiler.memory.orders.declare import METHODS, OrderMethod
from compiler.memory.orders.tasks import Tasks

__all__ = ["METHODS", "OrderMethod", "Ordered", "Tasks", "cp_sat", "order_tasks"]
