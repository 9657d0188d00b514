"""Vector loops and registers: how both are cut into vectors of the hardware."""
