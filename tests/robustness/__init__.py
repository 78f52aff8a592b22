"""What the program says of wrong inputs and of faults: docs/robustness.md and the list that it is made from."""
