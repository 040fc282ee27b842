"""The thin client signs requests as botocore does: hundreds of random ones, signed by both."""

import datetime as dt
from typing import Any
from unittest import mock

from botocore import auth
from botocore import credentials as botocore_credentials
from botocore.awsrequest import AWSRequest
from hypothesis import given, settings
from hypothesis import strategies as st

from timeball.aws.signing import Credentials, Scope, signed

_ID = st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", min_size=16, max_size=20)
_SECRET = st.text("abcdefghijklmnopqrstuvwxyzABCXYZ0123456789+/=", min_size=1, max_size=60)
CREDENTIALS = st.builds(
    Credentials, _ID, _SECRET, st.none() | st.text("abcXYZ0129+/= ", min_size=1, max_size=900).map(str.strip)
)
SCOPES = st.builds(
    Scope, st.sampled_from(["us-east-1", "eu-central-1", "cn-north-1"]), st.sampled_from(["dynamodb", "sqs"])
)
HOSTS = st.sampled_from(["dynamodb.us-east-1.amazonaws.com", "127.0.0.1:8000", "localhost", "[::1]:4566"])
TARGETS = st.sampled_from(["DynamoDB_20120810.Query", "AmazonSQS.SendMessageBatch"])


@settings(max_examples=400, deadline=None)
@given(CREDENTIALS, SCOPES, HOSTS, TARGETS, st.binary(max_size=2000), st.integers(0, 4_000_000_000))
def test_a_request_has_the_signature_that_botocore_gives_it(
    credentials: Credentials, scope: Scope, host: str, target: str, body: bytes, at: int
) -> None:
    headers = {"content-type": "application/x-amz-json-1.0", "host": host, "x-amz-target": target}
    ours = signed(headers, body, credentials, scope, at)
    theirs: Any = AWSRequest("POST", f"http://{host}/", headers=headers, data=body)
    key = botocore_credentials.Credentials(credentials.key_id, credentials.secret, credentials.token)
    moment = dt.datetime.fromtimestamp(at, dt.UTC)
    with mock.patch.object(auth, "get_current_datetime", return_value=moment):
        auth.SigV4Auth(key, scope.service, scope.region).add_auth(theirs)
    assert ours["authorization"] == theirs.headers["Authorization"]
    assert ours["x-amz-date"] == theirs.headers["X-Amz-Date"]
    assert ours.get("x-amz-security-token") == theirs.headers.get("X-Amz-Security-Token")
