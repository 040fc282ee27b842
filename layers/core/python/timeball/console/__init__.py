"""The console's pages, as they are packed for their function and served by it; it imports only the standard library."""
