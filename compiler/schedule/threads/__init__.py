"""Which loops threads share, and which temporaries each thread has for itself."""
