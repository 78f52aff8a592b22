"""What the program says of faults of a machine: the list, and faults.md, which is made from it."""
