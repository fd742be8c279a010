"""Schema of the policy file: pools, budgets, ladders, and what each class of fault asks for."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, model_validator

from gpuward.contracts.claims import Limits
from gpuward.contracts.identity import Entity, PoolId
from gpuward.contracts.model import Contract
from gpuward.contracts.remedies import HoldClass, Remedy, Severity


class _Strict(Contract):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Budget(_Strict):
    """How much of a pool may be disturbed at once. A slot is one node; what is disturbed stays charged until validated."""

    concurrent: Annotated[int, Field(ge=0)] = 1
    per_rack: Annotated[int, Field(ge=0)] = 1
    per_domain: Annotated[int, Field(ge=0)] = 1
    floor_pct: Annotated[float, Field(ge=0, le=100)] = 50.0
    """At least this share of the pool's members stays available, whatever made the others unavailable."""


class PoolPolicy(_Strict):
    """One pool: which nodes (`select`: labels that must all match; `rack` is a label of every node), and its limits."""

    name: PoolId
    select: dict[str, str] = Field(default_factory=dict)
    mode: Literal["watch", "act"] = "watch"
    budget: Budget = Budget()
    limits: Limits = Limits()
    hold_s: float = 45
    """How long the rack keeps a plan of a class with a rack-scope explanation."""


class Override(_Strict):
    """What a fault class asks for. The first whose class matches and whose `when` (CEL over `fault` and `seat`) is true."""

    classes: tuple[str, ...]
    """Fault classes; a trailing `*` matches a prefix."""
    when: str | None = None
    severity: Severity
    ladder: tuple[Remedy, ...]
    hold: HoldClass = HoldClass.NONE
    attempts: int = 3
    because: str

    @model_validator(mode="after")
    def _ladder_climbs(self) -> Override:
        if not self.ladder:
            raise ValueError(f"{self.classes}: a ladder has at least one rung")
        return self


class Policy(_Strict):
    """The whole file. `version` is set to a hash of its content when it is loaded."""

    version: str = ""
    pools: tuple[PoolPolicy, ...] = ()
    faults: tuple[Override, ...] = ()

    def pool(self, name: str) -> PoolPolicy | None:
        return next((pool for pool in self.pools if pool.name == name), None)

    @property
    def selectors(self) -> dict[str, dict[str, str]]:
        """Pool name → labels, in the file's order, as `inventory.select_pool` takes it."""
        return {str(pool.name): dict(pool.select) for pool in self.pools}


class PolicyChanged(Contract):
    """The record on `fleet.policy.v1`, key = `pool/<name>`: starts the pool guard and tells it its limits."""

    kind: Literal["policy"] = "policy"
    entity: Entity
    version: str
    revision: int
    """Time of the apply in ms; the greater wins."""
    pool: PoolPolicy
