"""Targets: requests, answers, and the targets that a deployment refuses."""
