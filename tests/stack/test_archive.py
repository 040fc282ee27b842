"""The archive's resources: they exist only if the setting asks for them, and may do no more than they need."""

import copy
import json
from typing import Any, get_args, get_type_hints

import pytest

from bench.bill import archive_month
from infra.archive import ATTEMPTS, PATTERNS
from infra.dependencies import SERVICES
from infra.settings import PREFIX, Settings
from tests.stack.conftest import KEY_ARN, ROOT, Synthesized, synthesized
from tests.stack.functions import short_name
from timeball.aws.dynamodb.table import keys
from timeball.domain.model.runs.run import TERMINAL
from timeball.runtime import wiring
from timeball.setting import SettingsError

STREAM = "arn:aws:dynamodb:eu-central-1:111122223333:table/jobs-of-may/stream/2026-11-24T02:17:28.123"


def _mapping(stack: Synthesized) -> dict[str, Any]:
    (found,) = (
        body["Properties"]
        for body in stack.resources("AWS::Lambda::EventSourceMapping").values()
        if "StartingPosition" in body["Properties"]
    )
    return dict(found)


def _bucket(stack: Synthesized) -> dict[str, Any]:
    (bucket,) = stack.resources("AWS::S3::Bucket").values()
    return bucket


def _of_archive(stack: Synthesized) -> dict[str, Any]:
    """Return the template's resources without those of the archive, and without the stream and the output."""
    rest = copy.deepcopy(stack.template)
    rest["Resources"] = {name: body for name, body in rest["Resources"].items() if not name.startswith("Archive")}
    rest["Outputs"].pop("ArchiveBucket")
    for body in rest["Resources"].values():
        body["Properties"].pop("StreamSpecification", None)
        if isinstance(body.get("DependsOn"), list):
            body["DependsOn"] = [name for name in body["DependsOn"] if not name.startswith("Archive")]
    return dict(rest)


def test_without_the_setting_the_template_has_nothing_of_it(stack: Synthesized, archive_stack: Synthesized) -> None:
    assert "stream/" not in json.dumps(stack.template).lower()
    assert not stack.resources("AWS::S3::Bucket")
    assert "StreamSpecification" not in json.dumps(stack.template)
    assert _of_archive(archive_stack) == stack.template


def test_the_jobs_table_alone_has_a_stream_with_rows_before_and_after(archive_stack: Synthesized) -> None:
    tables = archive_stack.resources("AWS::DynamoDB::GlobalTable")
    streams = {name: body["Properties"].get("StreamSpecification") for name, body in tables.items()}
    assert {bool(stream): name[:11] for name, stream in streams.items()} == {True: "StorageJobs", False: "StorageTena"}
    assert [stream for stream in streams.values() if stream] == [{"StreamViewType": "NEW_AND_OLD_IMAGES"}]


def test_the_function_has_exactly_the_rights_that_it_uses(archive_stack: Synthesized) -> None:
    role = archive_stack.functions()["archive"]["Role"]["Fn::GetAtt"][0]
    (policy,) = (
        body["Properties"]["PolicyDocument"]["Statement"]
        for body in archive_stack.resources("AWS::IAM::Policy").values()
        if {"Ref": role} in body["Properties"]["Roles"]
    )
    granted = {json.dumps(one["Resource"]): one["Action"] for one in policy}
    (table,) = (name for name in archive_stack.resources("AWS::DynamoDB::GlobalTable") if "Jobs" in name)
    (bucket,) = archive_stack.resources("AWS::S3::Bucket")
    (queue,) = (name for name in archive_stack.resources("AWS::SQS::Queue") if "Unreadable" in name)
    (log,) = (name for name in archive_stack.resources("AWS::Logs::LogGroup") if name.startswith("Archive"))
    assert granted == {
        json.dumps({"Fn::GetAtt": [log, "Arn"]}): ["logs:CreateLogStream", "logs:PutLogEvents"],
        json.dumps({"Fn::GetAtt": [table, "Arn"]}): "dynamodb:BatchGetItem",
        json.dumps({"Fn::GetAtt": [table, "StreamArn"]}): [
            "dynamodb:DescribeStream",
            "dynamodb:GetRecords",
            "dynamodb:GetShardIterator",
            "dynamodb:ListStreams",
        ],
        json.dumps({"Fn::Join": ["", [{"Fn::GetAtt": [bucket, "Arn"]}, "/*"]]}): "s3:PutObject",
        json.dumps({"Fn::GetAtt": [queue, "Arn"]}): "sqs:SendMessage",
    }


def test_no_other_function_may_use_the_bucket_or_the_stream(archive_stack: Synthesized) -> None:
    text = {name: json.dumps(body) for name, body in archive_stack.resources("AWS::IAM::Policy").items()}
    assert [name for name, policy in text.items() if "s3:" in policy or "StreamArn" in policy] == [
        name for name in text if name.startswith("Archive")
    ]


def test_the_bucket_is_private_encrypted_and_outlives_its_stack(archive_stack: Synthesized) -> None:
    bucket = _bucket(archive_stack)
    assert (bucket["UpdateReplacePolicy"], bucket["DeletionPolicy"]) == ("Retain", "RetainExceptOnCreate")
    blocked = bucket["Properties"]["PublicAccessBlockConfiguration"]
    assert len(blocked) == 4
    assert all(blocked.values())
    (rule,) = bucket["Properties"]["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert rule == {"ServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}
    assert "LifecycleConfiguration" not in bucket["Properties"]
    (policy,) = archive_stack.resources("AWS::S3::BucketPolicy").values()
    (statement,) = policy["Properties"]["PolicyDocument"]["Statement"]
    assert (statement["Effect"], statement["Action"], statement["Condition"]) == (
        "Deny",
        "s3:*",
        {"Bool": {"aws:SecureTransport": "false"}},
    )


def test_the_owners_key_encrypts_the_bucket_and_the_function_may_use_it(full_archive_stack: Synthesized) -> None:
    (rule,) = _bucket(full_archive_stack)["Properties"]["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert rule == {
        "BucketKeyEnabled": True,
        "ServerSideEncryptionByDefault": {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": KEY_ARN},
    }
    role = full_archive_stack.functions()["archive"]["Role"]["Fn::GetAtt"][0]
    (policy,) = (
        body["Properties"]["PolicyDocument"]["Statement"]
        for body in full_archive_stack.resources("AWS::IAM::Policy").values()
        if {"Ref": role} in body["Properties"]["Roles"]
    )
    uses = {
        one["Condition"]["StringEquals"]["kms:ViaService"]["Fn::Join"][1][0]: one["Action"]
        for one in policy
        if one["Resource"] == KEY_ARN
    }
    assert uses == {
        "dynamodb.": ["kms:Decrypt", "kms:DescribeKey"],
        "s3.": ["kms:Decrypt", "kms:GenerateDataKey"],
        "sqs.": ["kms:Decrypt", "kms:GenerateDataKey"],
    }


def test_objects_move_and_expire_as_the_settings_say(full_archive_stack: Synthesized) -> None:
    (rule,) = _bucket(full_archive_stack)["Properties"]["LifecycleConfiguration"]["Rules"]
    assert rule == {
        "ExpirationInDays": 3650,
        "Status": "Enabled",
        "Transitions": [{"StorageClass": "GLACIER_IR", "TransitionInDays": 90}],
    }


def test_a_batch_that_fails_is_tried_for_23_hours_and_then_noted_for_people(archive_stack: Synthesized) -> None:
    mapping = _mapping(archive_stack)
    assert mapping["MaximumRecordAgeInSeconds"] == 23 * 3600
    assert mapping["BisectBatchOnFunctionError"]
    assert "MaximumRetryAttempts" not in mapping
    assert short_name(mapping["DestinationConfig"]["OnFailure"]["Destination"]) == "Unreadable"
    assert (mapping["StartingPosition"], mapping["MaximumBatchingWindowInSeconds"]) == ("TRIM_HORIZON", 60)


def test_only_a_full_archive_is_given_attempts(archive_stack: Synthesized, full_archive_stack: Synthesized) -> None:
    basic, full = (
        [json.loads(one["Pattern"]) for one in _mapping(stack)["FilterCriteria"]["Filters"]]
        for stack in (archive_stack, full_archive_stack)
    )
    assert basic == [*PATTERNS]
    assert full == [*PATTERNS, ATTEMPTS]
    assert len(full) <= 5  # the most that AWS accepts without a request


def test_the_filter_names_the_rows_and_the_states_as_the_table_does() -> None:
    text = json.dumps([*PATTERNS, ATTEMPTS])
    for prefix in (keys.RUN, keys.ANNOUNCED, keys.RESULT):
        assert f'{{"prefix": "{prefix}"}}' in text
    assert f'"sk": {{"S": ["{keys.JOB}"]}}' in text
    assert {*PATTERNS[0]["dynamodb"]["NewImage"]["state"]["S"]} == {*TERMINAL}


def test_an_existing_table_is_archived_from_its_stream(tmp_path: Any) -> None:
    stack = synthesized(tmp_path, "small", archive="basic", jobs_table="jobs-of-may", jobs_stream=STREAM)
    assert _mapping(stack)["EventSourceArn"] == STREAM


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"archive": "basic", "jobs_table": "jobs-of-may"}, "jobs_stream must be set with jobs_table"),
        ({"archive": "basic", "jobs_stream": STREAM}, "jobs_stream must be set with jobs_table"),
        ({"archive": "basic", "jobs_table": "other", "jobs_stream": STREAM}, "must be the stream of jobs_table"),
        ({"jobs_stream": "nonsense"}, "must be the ARN of the stream of a table"),
        ({"archive_days": 30, "archive_cold_days": 30}, "archive_cold_days must be less than archive_days"),
        ({"archive_seconds": 301}, "must be a whole number from 0 to 300"),
        ({"archive": "yes"}, "must be one of off, basic, full"),
    ],
)
def test_settings_that_do_not_fit_are_refused(given: dict[str, object], problem: str) -> None:
    with pytest.raises(SettingsError, match=problem):
        Settings.read({PREFIX + name: value for name, value in given.items()})


def test_a_month_costs_what_the_page_says() -> None:
    page = (ROOT / "docs/reference/archive.md").read_text()
    columns = [archive_month(1e6), archive_month(1e6, seconds=300), archive_month(1e6, 20, 300)]
    for lines in zip(*columns, strict=True):
        assert f"| {lines[0].what} | {' | '.join(f'{line.dollars:.2f}' for line in lines)} |" in page
    sums = (sum(line.dollars for line in lines) for lines in columns)
    assert f"| **in all** | {' | '.join(f'**{dollars:.2f}**' for dollars in sums)} |" in page


def test_the_layer_describes_each_service_of_which_functions_have_a_client() -> None:
    services = get_args(get_type_hints(wiring._client.__wrapped__)["service"])
    assert "s3" in services
    assert {*services} <= {*SERVICES}
