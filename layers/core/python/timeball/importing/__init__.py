"""Definitions of other schedulers as Timeball's jobs, and how their fires compare."""
