"""Stored data that is no row of a tenant: due entries, edges, notes of requests, counters and secrets."""
