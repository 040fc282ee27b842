"""Why a function or a queue has its numbers: stated at its construct, shown in docs/reference/aws.md."""

from aws_cdk import CfnResource
from constructs import Construct

WHY = "Why"
"""The key in a resource's metadata."""


def explain(construct: Construct, why: str) -> None:
    """Store the reason for a resource's numbers in its metadata."""
    definition = construct.node.default_child
    if not isinstance(definition, CfnResource):
        raise TypeError(f"{construct.node.path} is not a single resource")
    definition.add_metadata(WHY, why)
