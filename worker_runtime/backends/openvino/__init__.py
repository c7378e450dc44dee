"""OpenVINO's own models, and those of other frameworks that it reads, on Intel devices."""
