"""One module per kind of table; each table is a pure function of data frames."""
