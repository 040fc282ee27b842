"""The only place that speaks to AWS: the ports of the engine, over DynamoDB, SQS and CloudWatch."""
