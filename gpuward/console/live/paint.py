"""How a lifecycle looks: a glyph that says it without colour, and a colour that says it from across the room."""

from __future__ import annotations

from typing import NamedTuple

from rich.text import Text

from gpuward.contracts.lifecycle import Lifecycle


class Look(NamedTuple):
    """Glyph and style of one lifecycle."""

    glyph: str
    style: str


_L = Lifecycle
LOOKS: dict[str, Look] = {
    _L.HEALTHY: Look("■", "green"),
    _L.SUSPECT: Look("?", "bold yellow"),
    _L.DEGRADED: Look("▼", "bold dark_orange"),
    _L.FAILED: Look("✗", "bold red"),
    _L.DRAINING: Look("▽", "bold cyan"),
    _L.REPAIRING: Look("↻", "bold blue"),
    _L.VALIDATING: Look("○", "bold magenta"),
    _L.QUARANTINED: Look("⊘", "bold white on red"),
    _L.MAINTENANCE: Look("◇", "cyan"),
    _L.RETIRED: Look("·", "dim"),
}
_STRANGE = Look("·", "dim")


def look(lifecycle: str) -> Look:
    """The look of a lifecycle; a word that is not one (a guard's state) is dim."""
    return LOOKS.get(lifecycle, _STRANGE)


def cell(lifecycle: str, *, blind: bool = False) -> Text:
    """One GPU as one character; blind ones are underlined."""
    glyph, style = look(lifecycle)
    return Text(glyph, style=f"{style} underline" if blind else style)


def word(lifecycle: str) -> Text:
    """The lifecycle itself, in its colour."""
    return Text(lifecycle, style=look(lifecycle).style)


def legend(used: set[str]) -> Text:
    """What the glyphs on the screen mean; only those that are there."""
    line = Text()
    for lifecycle in _L:
        if lifecycle in used:
            line.append_text(cell(lifecycle)).append(f" {lifecycle}   ", style="dim")
    return line
