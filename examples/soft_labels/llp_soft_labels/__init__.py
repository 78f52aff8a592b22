"""A method of a package of its own: the event-level loss."""
