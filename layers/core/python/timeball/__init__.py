"""Timeball: a serverless, distributed job scheduler that keeps its seconds."""

__version__ = "0.1.0"
