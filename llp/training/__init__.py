"""Training of one stage under Lightning."""
