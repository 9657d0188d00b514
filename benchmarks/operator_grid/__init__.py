"""Each operator alone over odd but legal parameters, beside another runtime."""
