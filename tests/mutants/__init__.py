"""Small changes of the code, each of which a test has to notice."""
