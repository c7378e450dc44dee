"""What can go wrong with objectives, alerts, silences and channels."""

from controlplane.core.errors import Conflict, NotFound


class ObjectiveNotFound(NotFound):
    code = "ObjectiveNotFound"
    tries = ("`shoal objective list ENDPOINT` shows those that there are.",)


class TooManyObjectives(Conflict):
    code = "TooManyObjectives"
    tries = ("Remove one that nobody looks at: `shoal objective delete`.",)


class AlertNotFound(NotFound):
    code = "AlertNotFound"
    tries = ("`shoal alert list --all` shows those that are kept.",)


class AlertRuleNotFound(NotFound):
    code = "AlertRuleNotFound"
    tries = ("`shoal alert rules` lists them; they are built in.",)


class AlertResolved(Conflict):
    code = "AlertResolved"
    tries = ("Nothing is left to be acknowledged.",)


class SilenceNotFound(NotFound):
    code = "SilenceNotFound"
    tries = ("`shoal alert silences` lists them.",)


class SilenceEnded(Conflict):
    code = "SilenceEnded"
    tries = ("Make another one: `shoal alert silence`.",)


class ChannelNotFound(NotFound):
    code = "ChannelNotFound"
    tries = ("`shoal channel list` shows those that there are.",)


class ChannelExists(Conflict):
    code = "ChannelExists"
    tries = ("Change it with PATCH, or take another name.",)


class DeliveryNotFound(NotFound):
    code = "DeliveryNotFound"
    tries = ("`shoal channel deliveries NAME` lists those that are kept.",)
