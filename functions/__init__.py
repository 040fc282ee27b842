"""The Lambda functions: a package in development; deployed, the folder is the code, each entry a module."""
