"""The one model class that every contract derives from."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Contract(BaseModel):
    """A frozen record that crosses a boundary.

    Law: additive within `.v1`. A reader ignores fields that it does not know; a writer never changes what a field means.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", ser_json_timedelta="float", ser_json_bytes="base64")

    def to_json(self) -> bytes:
        """UTF-8 JSON by pydantic-core, fields at their default left in (a reader never has to know our defaults)."""
        return self.__pydantic_serializer__.to_json(self)
