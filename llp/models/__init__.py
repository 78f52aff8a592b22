"""The networks that map an instance to its raw score."""
