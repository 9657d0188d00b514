"""Division of loops among threads, and temporaries private to a thread."""
