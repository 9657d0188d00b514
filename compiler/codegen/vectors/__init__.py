"""Vector loops and registers, legalised to vectors of the hardware."""
