"""Delete the newest runs of a job from a table, as if they were younger than a restore: `lose_rows.py TABLE JOB`."""

import sys

import boto3

from timeball.aws.dynamodb.table.keys import RUN

_LOST = 3

if __name__ == "__main__":
    table, job_id = sys.argv[1:]
    client = boto3.client("dynamodb")
    rows = client.scan(TableName=table)["Items"]
    runs = sorted(
        (row["pk"]["S"], row["sk"]["S"]) for row in rows if job_id in row["pk"]["S"] and row["sk"]["S"].startswith(RUN)
    )
    for pk, sk in runs[-_LOST:]:
        client.delete_item(TableName=table, Key={"pk": {"S": pk}, "sk": {"S": sk}})
    sys.stdout.write(f"lost {len(runs[-_LOST:])}\n")
