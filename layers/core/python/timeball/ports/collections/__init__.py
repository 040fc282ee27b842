"""Collections of rows: a tenant's data, each row with its revision."""
