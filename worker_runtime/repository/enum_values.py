"""Numbers that stand for no value of an enum: proto3 keeps them, and nobody knows their meaning."""

from typing import Any


def unknown_value(message: Any, where: str = "") -> str:
    """The first one in ``message``, with its field; "" for a message that has none."""
    for field, value in message.ListFields():
        path = f"{where}{field.name}"
        if field.enum_type is not None:
            for number in value if field.is_repeated else [value]:
                if number not in field.enum_type.values_by_number:
                    return f"{path} is no value of {field.enum_type.name}: {number}"
        elif field.message_type is not None:
            if field.message_type.GetOptions().map_entry:
                inner = field.message_type.fields_by_name["value"].message_type
                items = value.values() if inner is not None else ()
            else:
                items = value if field.is_repeated else [value]
            for item in items:
                if found := unknown_value(item, f"{path}."):
                    return found
    return ""
