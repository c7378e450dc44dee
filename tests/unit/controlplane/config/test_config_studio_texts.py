"""The server's fixed texts that the studio translates."""

from pathlib import Path

from controlplane.config.studio_texts import rendered, texts

FILE = Path(__file__).parents[4] / "frontend" / "src" / "i18n" / "server-texts.ts"


def test_the_studio_has_the_texts_of_the_code() -> None:
    assert FILE.read_text() == rendered(), "run `make studio-texts`"


def test_texts_can_stand_in_a_catalogue() -> None:
    """Braces would be values there, and the studio's formatter writes quotes another way."""
    assert [text for text in texts() if set(text) & set('{}"\\\n')] == []
