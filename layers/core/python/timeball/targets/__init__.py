"""What Timeball calls: each kind of target has a folder, whose adapter answers with a verdict."""
