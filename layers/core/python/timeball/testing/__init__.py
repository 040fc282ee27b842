"""Fakes that earned their trust: they pass the contract suite of the real adapters."""
