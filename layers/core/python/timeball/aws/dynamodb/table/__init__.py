"""One table: its schema, keys and rows, reads and conditional writes."""
