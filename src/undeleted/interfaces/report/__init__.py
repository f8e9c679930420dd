"""Self-contained HTML pages that open offline."""
