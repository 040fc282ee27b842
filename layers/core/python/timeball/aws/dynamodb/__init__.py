"""The store's collections over DynamoDB."""
