"""Kinds of exercises, one declaration each.

Importing this package declares every kind.
"""

from course.exercises.bucket_sizes import write_buckets
from course.exercises.device_scheduler import write_scheduler
from course.exercises.fusion_policy import write_policy
from course.exercises.graph_pass import write_pass
from course.exercises.graph_text import write_graph
from course.exercises.memory_planner import write_planner
from course.exercises.passes import order_passes
from course.exercises.prediction import predict
from course.exercises.rules import fix_rule, write_rule
from course.exercises.schedule_search import write_cost_model, write_search
from course.exercises.schedule_text import edit_schedule

__all__ = [
    "edit_schedule",
    "fix_rule",
    "order_passes",
    "predict",
    "write_buckets",
    "write_cost_model",
    "write_graph",
    "write_pass",
    "write_planner",
    "write_policy",
    "write_rule",
    "write_scheduler",
    "write_search",
]
