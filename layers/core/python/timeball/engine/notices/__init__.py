"""Notices: Timeball notifies people about a job by a one-off job of its own."""
