"""What is kept beside the rows, in DynamoDB."""
