"""What bounds a tenant: how much it may create, and the keys by which it bounds its own runs."""
