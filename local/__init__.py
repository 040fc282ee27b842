"""The embedded AWS: an emulator in a process of its own, and the very same CDK app deployed to it."""
