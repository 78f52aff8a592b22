"""What every method keeps, as checks of any method: those of the package, and those of anyone's own."""
