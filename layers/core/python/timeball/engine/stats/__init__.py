"""Figures of a tenant's jobs and runs as a whole, and how they are counted."""
