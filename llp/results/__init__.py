"""From finished runs to tables and figures."""
