"""What AWS charges in us-east-1, in dollars, by its public price pages of 2026-11-21. Free tiers are left out."""

EXPRESS_GB_SECOND = 0.000_016_67
"""Step Functions, Express: the duration, in memory of whole chunks of 64 MB."""
EXPRESS_START = 1.00 / 1e6
LAMBDA_REQUEST = 0.20 / 1e6
LAMBDA_GB_SECOND = 0.000_013_333_4
"""On Graviton."""
READ_UNIT = 0.125 / 1e6
"""DynamoDB on demand: a strong read of up to 4 KB; any other read is half a unit."""
WRITE_UNIT = 0.625 / 1e6
SQS_REQUEST = 0.40 / 1e6
SECRET_MONTH = 0.40
"""Secrets Manager: a secret for a month."""
LOG_GB = 0.50
"""CloudWatch: a GB that is written."""

SECONDS_A_MONTH = 730 * 3600
