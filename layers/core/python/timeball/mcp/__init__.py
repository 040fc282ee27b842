"""The server of tools for language models, over the client."""
