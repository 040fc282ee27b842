"""Schemas of payloads: which schemas a task may have, and which payloads match."""
