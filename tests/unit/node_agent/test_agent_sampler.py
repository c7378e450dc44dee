"""Prometheus text becomes counters per model."""

from node_agent.sampler import parse

TEXT = """
# HELP nv_inference_request_success Number of successful inference requests
# TYPE nv_inference_request_success counter
nv_inference_request_success{model="digits",version="1"} 7
# TYPE nv_inference_request_failure counter
nv_inference_request_failure{model="digits",version="1",reason="CANCELED"} 2
nv_inference_request_failure{model="digits",version="1",reason="OTHER"} 1
# TYPE nv_inference_queue_duration_us counter
nv_inference_queue_duration_us{model="digits",version="1",gpu_uuid="a"} 10
nv_inference_queue_duration_us{model="digits",version="1",gpu_uuid="b"} 5
# TYPE nv_inference_pending_request_count gauge
nv_inference_pending_request_count{model="digits",version="1"} 4
# TYPE shoal_inference_batch_size_total counter
shoal_inference_batch_size_total{model="digits",version="1",batch_size="8"} 3
# TYPE shoal_inference_batch_compute_us_total counter
shoal_inference_batch_compute_us_total{model="digits",version="1",batch_size="8"} 900
# TYPE shoal_instance_busy_us_total counter
shoal_instance_busy_us_total{model="digits",version="1"} 1200
# TYPE shoal_gpu_out_of_memory_total counter
shoal_gpu_out_of_memory_total{model="digits",version="1"} 2
# TYPE shoal_error_answers_total counter
shoal_error_answers_total{model="digits",version="1"} 3
# TYPE shoal_model_instances gauge
shoal_model_instances{model="digits",version="1"} 2
# TYPE shoal_model_is_step gauge
shoal_model_is_step{model="digits",version="1"} 1
# TYPE shoal_model_calls_total counter
shoal_model_calls_total{model="digits",version="1",callee="net.a"} 6
# TYPE shoal_model_call_failures_total counter
shoal_model_call_failures_total{model="digits",version="1",callee="net.a"} 1
# TYPE shoal_model_call_us_total counter
shoal_model_call_us_total{model="digits",version="1",callee="net.a"} 4500
# TYPE shoal_model_last_call_timestamp_seconds gauge
shoal_model_last_call_timestamp_seconds{model="digits",version="1",callee="net.a"} 1790000000.25
# TYPE nv_inference_first_response_histogram_ms histogram
nv_inference_first_response_histogram_ms_count{model="digits",version="1"} 3
nv_inference_first_response_histogram_ms_sum{model="digits",version="1"} 205
nv_inference_first_response_histogram_ms_bucket{model="digits",version="1",le="100"} 2
nv_inference_first_response_histogram_ms_bucket{model="digits",version="1",le="+Inf"} 3
# TYPE nv_cpu_utilization gauge
nv_cpu_utilization 0.5
"""


def test_counters_of_a_model() -> None:
    (model,) = parse(TEXT)
    assert (model.model, model.version) == ("digits", "1")
    assert model.request_success == 7
    assert model.request_failure == {"CANCELED": 2, "OTHER": 1}
    assert model.queue_duration_us == 15  # the instances of one model add up
    assert model.pending_request_count == 4
    assert model.batch_counts == {"8": 3}
    assert model.batch_compute_us == {"8": 900}
    assert (model.busy_us, model.instances, model.step) == (1200, 2, True)
    assert (model.gpu_out_of_memory, model.error_answers) == (2, 3)
    assert (model.calls, model.call_failures) == ({"net.a": 6}, {"net.a": 1})
    assert (model.call_us, model.last_call) == ({"net.a": 4500}, {"net.a": 1790000000.25})
    assert model.first_response == {"100": 2, "+Inf": 3}


def test_an_idle_runtime_has_no_models() -> None:
    assert parse("# TYPE nv_cpu_utilization gauge\nnv_cpu_utilization 0.5\n") == ()
