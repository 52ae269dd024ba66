"""Reporting: records become one table of cells, the table becomes documents and figures."""
