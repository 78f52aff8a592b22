"""From raw files to instance tables: one module per dataset, and what they share."""
