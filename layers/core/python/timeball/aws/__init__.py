"""The only package that calls AWS: the engine's ports over DynamoDB, SQS and CloudWatch."""
