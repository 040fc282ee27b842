"""What the engine asks of whatever is outside it. Lists in, lists out; the answer's order is the question's.

A port raises `UnavailableError` where it does not know the outcome (throttled, timed out): unknown is never absent.
"""
