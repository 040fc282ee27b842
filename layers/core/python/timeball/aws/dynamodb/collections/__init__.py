"""The collections of rows, in DynamoDB."""
