# Generated from aio/__init__.py by `python -m docs.client`: change that instead.
"""The client for programs without an event loop."""
