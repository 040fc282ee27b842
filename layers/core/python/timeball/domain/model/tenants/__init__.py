"""Tenants, their API keys, roles and quotas, and the actors of requests."""
