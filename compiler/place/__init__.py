"""Which device runs what, and when: platforms, tasks, schedulers, a simulator."""
