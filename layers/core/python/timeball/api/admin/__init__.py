"""Tenants and their API keys, for admins."""
