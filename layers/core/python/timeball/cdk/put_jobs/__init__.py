"""The function of the construct's custom resource. It is an asset of its own, so it has the standard library only."""
