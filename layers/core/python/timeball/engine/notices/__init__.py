"""Notices: who wants to be told of a job is called by a job of its own."""
