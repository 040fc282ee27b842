"""Data that is kept beside the rows, in DynamoDB."""
