"""The quotas of tenants, where they are kept: at what they create, and at what is about to start."""
