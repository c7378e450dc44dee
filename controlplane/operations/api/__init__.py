"""REST of deployments, one file per noun: parse, call one service or selector, answer."""
