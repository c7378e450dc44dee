"""Azure Resource Manager's words for our services, one file per noun."""
