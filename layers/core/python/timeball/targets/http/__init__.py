"""Webhooks: what may be called, how, and what an answer means. This package is Timeball's whole HTTP client."""
