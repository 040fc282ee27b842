"""The rules of the schedulers that jobs are imported from: one small model each, with its source named."""
