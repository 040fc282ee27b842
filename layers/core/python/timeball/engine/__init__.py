"""The engine's verbs, one file each. Every verb takes a list and returns a list."""
