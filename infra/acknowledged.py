"""Findings of cdk-nag that are meant, each acknowledged at the construct that has it, with the reason."""

from aws_cdk import Acknowledgment, Validations
from constructs import IConstruct


def acknowledge(construct: IConstruct, rule: str, reason: str) -> None:
    """Accept what a rule of AWS's solutions pack (`APIG4`) finds at a construct, and below it."""
    Validations.of(construct).acknowledge(Acknowledgment(id=f"AwsSolutions::AwsSolutions-{rule}", reason=reason))
