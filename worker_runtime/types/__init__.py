"""Values that every floor of the runtime may know: tensors, requests, configurations, states."""
