"""Accepted findings of cdk-nag, each acknowledged at its construct with the reason."""

from aws_cdk import Acknowledgment, Validations
from constructs import IConstruct


def acknowledge(construct: IConstruct, rule: str, reason: str) -> None:
    """Accept a finding of a rule of AWS's solutions pack (`APIG4`) at a construct and below it."""
    Validations.of(construct).acknowledge(Acknowledgment(id=f"AwsSolutions::AwsSolutions-{rule}", reason=reason))
