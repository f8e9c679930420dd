"""One file for every page that is made of benchmark output."""
