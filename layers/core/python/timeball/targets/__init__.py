"""The targets that Timeball calls: each kind has a folder, whose adapter returns a verdict."""
