"""What a tenant's runs came to, told from counts that add up."""
