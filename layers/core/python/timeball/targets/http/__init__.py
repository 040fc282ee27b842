"""Webhooks: what may be called, how, and what an answer means. All that Timeball knows of HTTP as a client."""
