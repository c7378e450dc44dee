"""The settings of a deployment that ``spec`` declares, as REST takes and shows them."""

import json
from collections.abc import Iterable
from typing import Any, ClassVar

from rest_framework import serializers

from controlplane.deployments.naming import variable_problem
from controlplane.deployments.serializers.autoscaling import PolicySerializer
from controlplane.deployments.serializers.capturing import CaptureSerializer
from controlplane.deployments.serializers.probes import ProbeSerializer
from controlplane.deployments.serializers.ranges import RangeField
from controlplane.deployments.spec import SETTINGS, Choice, Kind, Number, Setting

Fields = serializers.Serializer[Any]
Field = serializers.Field[Any, Any, Any, Any]
LIMIT_SECRET_CHARS = 65_536
LIMIT_DECLARED_CHARS = 65_536
LIMIT_NAME_CHARS = 64
NESTED: dict[Kind, type[Fields]] = {
    Kind.PROBE: ProbeSerializer,
    Kind.POLICY: PolicySerializer,
    Kind.CAPTURE: CaptureSerializer,
}


class NoneIsZeroField(RangeField):
    """0 is None: the setting is taken away."""

    def run_validation(self, data: Any = serializers.empty) -> Any:
        return super().run_validation(data) or None


class DeclaredField(serializers.DictField):
    """Kept and given back as it came; nothing here acts on it."""

    def run_validation(self, data: Any = serializers.empty) -> Any:
        value = super().run_validation(data)
        if value and len(json.dumps(value)) > LIMIT_DECLARED_CHARS:
            raise serializers.ValidationError(f"More than {LIMIT_DECLARED_CHARS} characters.")
        return value


class VariablesField(serializers.DictField):
    """Environment variables by name; a name that no process can be given is refused."""

    def run_validation(self, data: Any = serializers.empty) -> Any:
        value = super().run_validation(data)
        if problems := {name: why for name in value or () if (why := variable_problem(name))}:
            raise serializers.ValidationError(problems)
        return value


class SecretsField(VariablesField):
    """The same, write-only; null takes one away."""

    def __init__(self, **options: Any) -> None:
        child = serializers.CharField(
            allow_null=True, max_length=LIMIT_SECRET_CHARS, trim_whitespace=False
        )
        super().__init__(child=child, **{"required": False, "default": dict, **options})


class SettingsFields(Fields):
    # why no docstring: what inherits it would be described by it in the OpenAPI document
    # names of the settings that it has; a field of its own counts in the place of one
    settings: ClassVar[Iterable[str]] = ()

    def get_fields(self) -> dict[str, Field]:
        made = {name: self.made(name) for name in self.settings}
        return {**made, **super().get_fields()}

    def made(self, name: str) -> Field:
        raise NotImplementedError


class NewSettings(SettingsFields):
    """Of a deployment that is made: what is left out has its default."""

    def made(self, name: str) -> Field:
        setting = SETTINGS[name]
        default = dict if isinstance(setting.default, dict) else setting.default
        return _taken(setting, setting.help, default=default)


class ChangedSettings(SettingsFields):
    """Of one that is there: what is left out stays as it is."""

    def made(self, name: str) -> Field:
        setting = SETTINGS[name]
        return _taken(setting, setting.help if setting.change_help is None else setting.change_help)


class ShownSettings(SettingsFields):
    def made(self, name: str) -> Field:
        return setting_shown(SETTINGS[name], help_text=SETTINGS[name].shown_help or None)


def emptied(names: Iterable[str]) -> dict[str, Any]:
    """What null stands for, by name; without those that are null themselves, and secrets."""
    return {
        name: SETTINGS[name].default
        for name in names
        if SETTINGS[name].default is not None and SETTINGS[name].value is not Kind.SECRETS
    }


def _taken(setting: Setting, help_text: str, **said: Any) -> Field:
    options: dict[str, Any] = {"required": False, "help_text": help_text or None, **said}
    if setting.default is None:
        options["allow_null"] = True
    match setting.value:
        case Number(least, most, none_is_zero):
            kind = NoneIsZeroField if none_is_zero else RangeField
            return kind(least=least, most=most, **options)
        case Choice(choices):
            return serializers.ChoiceField(choices=choices.choices, **options)
        case Kind.SWITCH:
            return serializers.BooleanField(**options)
        case Kind.TEXT:
            return serializers.CharField(allow_blank=True, **options)
        case Kind.NAME:
            return serializers.CharField(allow_blank=True, max_length=LIMIT_NAME_CHARS, **options)
        case Kind.TEXTS:
            return serializers.DictField(child=serializers.CharField(allow_blank=True), **options)
        case Kind.VARIABLES:
            return VariablesField(child=serializers.CharField(), **options)
        case Kind.SECRETS:
            return SecretsField(**options)
        case Kind.PROBE | Kind.POLICY | Kind.CAPTURE as kind:
            return NESTED[kind](**options)
        case Kind.DECLARED:
            return DeclaredField(**options)


def setting_shown(setting: Setting, **options: Any) -> Field:
    match setting.value:
        case Number():
            return serializers.IntegerField(allow_null=setting.default is None, **options)
        case Choice(choices):
            return serializers.ChoiceField(choices=choices.choices, **options)
        case Kind.SWITCH:
            return serializers.BooleanField(**options)
        case Kind.TEXT:
            return serializers.CharField(allow_blank=True, **options)
        case Kind.NAME:
            return serializers.CharField(allow_null=True, **options)
        case Kind.TEXTS:
            return serializers.DictField(child=serializers.CharField(allow_blank=True), **options)
        case Kind.VARIABLES:
            return serializers.DictField(child=serializers.CharField(), **options)
        case Kind.SECRETS:
            return serializers.ListField(child=serializers.CharField(), **options)
        case Kind.PROBE | Kind.POLICY | Kind.CAPTURE as kind:
            return NESTED[kind](allow_null=True, **options)
        case Kind.DECLARED:
            return DeclaredField(**options)
