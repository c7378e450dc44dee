-- Samples and log lines live apart from the rest. Runs once, on an empty data folder.
CREATE DATABASE shoal_metrics OWNER shoal;
