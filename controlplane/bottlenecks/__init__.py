"""Why an endpoint is slow: where a request's time went, and the likeliest causes."""
