"""Collections of rows: what a tenant has, each row with its revision."""
