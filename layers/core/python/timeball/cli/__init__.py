"""The command line of Timeball.

main.py finds the command; each command is a module that is imported only when it runs.
"""
