"""Fixed addresses for calls: executors in private subnets, behind NAT gateways whose addresses never change.

Only if the setting asks for it, because a gateway costs by the hour. Requests to the table bypass the gateways.
"""

from dataclasses import dataclass

from aws_cdk import CfnOutput, Stack, Tags
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from constructs import Construct

from infra.acknowledged import acknowledge
from infra.settings import Settings

ZONES = 2
"""Availability zones, each with a gateway and an address; one may fail."""

_ACTIONS = (
    "ec2:AssignPrivateIpAddresses",
    "ec2:CreateNetworkInterface",
    "ec2:DeleteNetworkInterface",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSubnets",
    "ec2:UnassignPrivateIpAddresses",
)
"""The actions of Lambda on behalf of a function to connect it; AWS accepts no resource for these."""


@dataclass(frozen=True)
class Network:
    """The network that a function's calls leave from."""

    vpc: ec2.IVpc
    subnets: ec2.SubnetSelection
    group: ec2.ISecurityGroup


class Egress(Construct):
    """A network that contains only executors, and the addresses that their calls come from."""

    def __init__(self, scope: Construct, construct_id: str, settings: Settings) -> None:
        super().__init__(scope, construct_id)
        addresses = [ec2.CfnEIP(self, f"address-{zone}", domain="vpc") for zone in range(1, ZONES + 1)]
        for address in addresses:
            Tags.of(address).add("Name", f"{settings.name}-egress")
        vpc = ec2.Vpc(
            self,
            "network",
            vpc_name=settings.name,
            max_azs=ZONES,
            restrict_default_security_group=False,  # it is unused, and restricting it would need another function
            nat_gateway_provider=ec2.NatProvider.gateway(
                eip_allocation_ids=[address.attr_allocation_id for address in addresses]
            ),
            subnet_configuration=[
                ec2.SubnetConfiguration(name="gateways", subnet_type=ec2.SubnetType.PUBLIC, cidr_mask=26),
                ec2.SubnetConfiguration(name="executors", subnet_type=ec2.SubnetType.PRIVATE_WITH_EGRESS, cidr_mask=20),
            ],
            gateway_endpoints={
                "tables": ec2.GatewayVpcEndpointOptions(service=ec2.GatewayVpcEndpointAwsService.DYNAMODB)
            },
        )
        acknowledge(vpc, "VPC7", "Nothing in it can be reached; the host of each call is in the run's attempt")
        group = ec2.SecurityGroup(
            self,
            "executors",
            vpc=vpc,
            description="Executors: outbound connections only",
            allow_all_outbound=True,
        )
        self.network = Network(vpc, ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_WITH_EGRESS), group)
        CfnOutput(
            Stack.of(self),
            "EgressAddresses",
            description="The addresses that calls of targets come from",
            value=",".join(address.attr_public_ip for address in addresses),
        )


def let_join(role: iam.IRole, scope: Construct) -> None:
    """Allow Lambda to connect a function to a network with the function's role."""
    role.add_to_principal_policy(iam.PolicyStatement(actions=[*_ACTIONS], resources=["*"]))
    acknowledge(scope, "IAM5[Resource::*]", "AWS takes no resource for the actions by which Lambda connects a function")
