"""Single operators with unusual legal parameters, compared with another runtime."""
