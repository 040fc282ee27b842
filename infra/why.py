"""Why a function or a queue is as it is: said where it is made, kept in the template, told by docs/aws.md."""

from aws_cdk import CfnResource
from constructs import Construct

WHY = "Why"
"""The key in a resource's metadata."""


def explain(construct: Construct, why: str) -> None:
    """Keep the reason for its numbers with a resource."""
    definition = construct.node.default_child
    if not isinstance(definition, CfnResource):
        raise TypeError(f"{construct.node.path} is no single resource")
    definition.add_metadata(WHY, why)
