"""The embedded AWS: an emulator in its own process, to which the same CDK app is deployed."""
