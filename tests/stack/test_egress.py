"""Executors with fixed addresses, if a setting asks for them."""

import json
from typing import Any

from tests.stack.conftest import Synthesized


def test_without_the_setting_there_is_no_network_and_nothing_that_costs_by_the_hour(stack: Synthesized) -> None:
    assert "AWS::EC2" not in json.dumps(stack.template)
    assert "EgressAddresses" not in stack.template["Outputs"]


def test_only_executors_are_in_private_subnets(fixed_stack: Synthesized) -> None:
    within = {name for name, function in fixed_stack.functions().items() if "VpcConfig" in function}
    assert within == {"execute-high", "execute-normal", "execute-low"}
    for name in within:
        for reference in fixed_stack.functions()[name]["VpcConfig"]["SubnetIds"]:
            assert not fixed_stack.resolve(reference)["MapPublicIpOnLaunch"]


def test_two_gateways_in_two_zones_have_addresses_that_the_stack_outputs(fixed_stack: Synthesized) -> None:
    gateways = [body["Properties"] for body in fixed_stack.resources("AWS::EC2::NatGateway").values()]
    addresses = list(fixed_stack.resources("AWS::EC2::EIP"))
    assert len(gateways) == len(addresses) == 2
    assert {gateway["AllocationId"]["Fn::GetAtt"][0] for gateway in gateways} == set(addresses)
    zones = {json.dumps(fixed_stack.resolve(gateway["SubnetId"])["AvailabilityZone"]) for gateway in gateways}
    assert len(zones) == 2
    told = fixed_stack.template["Outputs"]["EgressAddresses"]["Value"]["Fn::Join"][1]
    assert [part["Fn::GetAtt"] for part in told if isinstance(part, dict)] == [[one, "PublicIp"] for one in addresses]


def test_each_private_subnet_leaves_by_the_gateway_of_its_own_zone(fixed_stack: Synthesized) -> None:
    routes = [body["Properties"] for body in fixed_stack.resources("AWS::EC2::Route").values()]
    leaving = [route for route in routes if "NatGatewayId" in route]
    assert {route["DestinationCidrBlock"] for route in leaving} == {"0.0.0.0/0"}
    assert len({route["NatGatewayId"]["Ref"] for route in leaving}) == 2


def test_the_table_is_reached_without_a_gateway_and_executors_accept_no_connections(fixed_stack: Synthesized) -> None:
    (endpoint,) = fixed_stack.resources("AWS::EC2::VPCEndpoint").values()
    assert "dynamodb" in json.dumps(endpoint["Properties"]["ServiceName"])
    assert endpoint["Properties"]["VpcEndpointType"] == "Gateway"
    groups: list[dict[str, Any]] = [
        body["Properties"] for body in fixed_stack.resources("AWS::EC2::SecurityGroup").values()
    ]
    assert [group.get("SecurityGroupIngress", []) for group in groups] == [[]]
