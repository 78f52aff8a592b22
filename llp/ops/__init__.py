"""Pure tensor functions that several methods share."""
