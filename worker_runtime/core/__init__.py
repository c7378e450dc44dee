"""The data plane and the life of models; knows neither HTTP nor gRPC."""
