"""inference.GRPCInferenceService and grpc.health.v1 over grpc.aio."""
