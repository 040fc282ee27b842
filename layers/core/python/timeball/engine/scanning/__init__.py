"""What is due is found and moved on."""
