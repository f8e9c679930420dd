"""Pages to look at: self-contained HTML that opens offline."""
