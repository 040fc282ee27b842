"""Commands that show the state of a Timeball."""
