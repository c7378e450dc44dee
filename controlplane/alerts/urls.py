"""Routes of objectives and alerts, below /api/v1/."""

from django.urls import path

from controlplane.alerts.api import alerts, channels, endpoints, objectives, rules

urlpatterns = [
    path("endpoints", endpoints.EndpointsView.as_view()),
    path("endpoints/<str:endpoint>", endpoints.EndpointView.as_view()),
    path("endpoints/<str:endpoint>/objectives", objectives.ObjectivesView.as_view()),
    path("endpoints/<str:endpoint>/objectives/<str:objective>", objectives.ObjectiveView.as_view()),
    path(
        "endpoints/<str:endpoint>/objectives/<str:objective>/history",
        objectives.ObjectiveHistoryView.as_view(),
    ),
    path("alerts", alerts.AlertsView.as_view()),
    path("alerts/counts", alerts.AlertCountsView.as_view()),
    path("alerts/<str:alert_id>", alerts.AlertView.as_view()),
    path("alerts/<str:alert_id>/acknowledge", alerts.AlertAcknowledgeView.as_view()),
    path("alert-rules", rules.AlertRulesView.as_view()),
    path("alert-rules/<str:rule>", rules.AlertRuleView.as_view()),
    path(
        "alert-rules/<str:rule>/thresholds/<str:kind>/<str:name>",
        rules.AlertThresholdView.as_view(),
    ),
    path("silences", alerts.SilencesView.as_view()),
    path("silences/<str:silence_id>", alerts.SilenceView.as_view()),
    path("channels", channels.ChannelsView.as_view()),
    path("channels/<str:channel>", channels.ChannelView.as_view()),
    path("channels/<str:channel>/compare", channels.ChannelCompareView.as_view()),
    path("channels/<str:channel>/test", channels.ChannelTestView.as_view()),
    path("channels/<str:channel>/deliveries", channels.DeliveriesView.as_view()),
    path(
        "channels/<str:channel>/deliveries/<str:delivery_id>/replay",
        channels.DeliveryReplayView.as_view(),
    ),
]
