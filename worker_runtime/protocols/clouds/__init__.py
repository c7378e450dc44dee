"""SageMaker and Vertex AI: Triton's HTTP under the paths and content types of these platforms."""
