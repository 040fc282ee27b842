"""Fakes that can be trusted: they pass the contract suite of the real adapters."""
