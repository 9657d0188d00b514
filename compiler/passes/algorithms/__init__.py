"""Choice of convolution algorithms: fewer multiplications within an error budget."""
