"""The engine's interfaces to everything outside it. Lists in, lists out; answers have the order of the questions.

A port raises `UnavailableError` if it does not know the outcome (throttled, timed out): unknown never means absent.
"""
