"""A construct of the AWS CDK: an app declares its jobs beside its functions, and deploys both together."""

from timeball.cdk.construct import Timeball

__all__ = ["Timeball"]
