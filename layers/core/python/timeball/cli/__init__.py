"""The command line: what a person asks of Timeball from a shell.

main.py finds the command; each command is a module, imported only when it is called.
"""
