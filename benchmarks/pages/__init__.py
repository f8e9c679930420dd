"""One file for each page that is generated from benchmark output."""
