"""MLflow itself cannot be installed meanwhile: what loads the model here, as far as it is asked."""
