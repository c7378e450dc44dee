"""What the metrics port shows. Nothing is counted here: values are read when they are asked for."""
