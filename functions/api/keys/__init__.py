"""Keys that jobs name: how many runs at once, or calls a second, they allow, and who has and awaits what they allow."""
