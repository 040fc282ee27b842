"""The modules that run in the process of the embedded AWS, on its Python, which has none of our code but these."""
