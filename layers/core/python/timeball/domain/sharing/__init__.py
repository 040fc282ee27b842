"""Decisions about what tenants and runs compete for: slots, rate tokens, capacity, quotas. Pure."""
