"""The bounds of a tenant: how much it may create, and the limits that it sets on its own runs."""
