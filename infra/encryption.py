"""A KMS key that the deployment's owner manages: what it encrypts, and what each role may do with it.

Invariant: a role uses the key only through the services that it may call for encrypted data. The key and its policy
belong to the owner and are not changed here.
"""

from collections.abc import Mapping
from typing import Any, Final

from aws_cdk import CfnResource, Stack
from aws_cdk import aws_iam as iam
from constructs import Construct

from infra.settings import Settings

_READ: Final = ("kms:Decrypt", "kms:DescribeKey")
_WRITE: Final = (*_READ, "kms:Encrypt", "kms:GenerateDataKey", "kms:ReEncryptFrom", "kms:ReEncryptTo")
"""The documented needs of a table except CreateGrant, which only the deployment that sets a table's key needs."""
_SEND: Final = ("kms:Decrypt", "kms:GenerateDataKey")
_RECEIVE: Final = ("kms:Decrypt",)

_NEEDS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "dynamodb:BatchGetItem": ("dynamodb", _READ),
    "dynamodb:Query": ("dynamodb", _READ),
    "dynamodb:GetRecords": ("dynamodb", _READ),
    "dynamodb:PutItem": ("dynamodb", _WRITE),
    "dynamodb:UpdateItem": ("dynamodb", _WRITE),
    "dynamodb:PartiQLInsert": ("dynamodb", _WRITE),
    "dynamodb:PartiQLUpdate": ("dynamodb", _WRITE),
    "sqs:SendMessage": ("sqs", _SEND),
    "sqs:ReceiveMessage": ("sqs", _RECEIVE),
    "s3:PutObject": ("s3", _SEND),
    "ssm:PutParameter": ("ssm", ("kms:Encrypt",)),
}
"""The service through which a role needs the key for an action, and what it needs of the key (AWS documents both)."""

_RULE: Final = "BucketEncryption.ServerSideEncryptionConfiguration.0"

_PROPERTIES: Final[Mapping[str, Mapping[str, object]]] = {
    "AWS::DynamoDB::GlobalTable": {
        "SSESpecification": {"SSEEnabled": True, "SSEType": "KMS"},
        "Replicas.0.SSESpecification.KMSMasterKeyId": None,
    },
    "AWS::Logs::LogGroup": {"KmsKeyId": None},
    "AWS::SQS::Queue": {"KmsMasterKeyId": None},
    "AWS::S3::Bucket": {
        f"{_RULE}.BucketKeyEnabled": True,
        f"{_RULE}.ServerSideEncryptionByDefault.SSEAlgorithm": "aws:kms",
        f"{_RULE}.ServerSideEncryptionByDefault.KMSMasterKeyID": None,
    },
}
"""The properties of a resource that set its encryption; None stands for the ARN of the key."""


def encrypt(construct: Construct, settings: Settings) -> None:
    """Encrypt a table, a queue, a log or a bucket with the owner's key, if there is one.

    The CDK's own way refuses a table in a stack without a region, and would let any rule send to an encrypted queue.
    """
    definition = construct.node.default_child
    if not isinstance(definition, CfnResource):
        raise TypeError(f"{construct.node.path} is not a single resource")
    for name, value in _PROPERTIES[definition.cfn_resource_type].items() if settings.kms_key else ():
        definition.add_property_override(name, settings.kms_key if value is None else value)


def let_use_key(stack: Stack, settings: Settings) -> None:
    """Allow each role to use the owner's key, if there is one, for its actions on tables, queues, buckets and keys.

    The actions come from the policies, so that a function with a new permission also gets the key's.
    """
    if not settings.kms_key:
        return
    for construct in stack.node.find_all():
        if isinstance(construct, iam.CfnPolicy):
            document = stack.resolve(construct.policy_document)
            uses = _uses(stack, settings.kms_key, document["Statement"])
            construct.policy_document = {**document, "Statement": [*document["Statement"], *uses]}


def _uses(stack: Stack, key: str, statements: list[dict[str, Any]]) -> list[dict[str, Any]]:
    needed: dict[str, set[str]] = {}
    for statement in statements:
        for action in statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]:
            if action in _NEEDS:
                service, actions = _NEEDS[action]
                needed.setdefault(service, set()).update(actions)
    return [
        {
            "Effect": "Allow",
            "Action": sorted(actions),
            "Resource": key,
            "Condition": {"StringEquals": {"kms:ViaService": f"{service}.{stack.region}.{stack.url_suffix}"}},
        }
        for service, actions in sorted(needed.items())
    ]
