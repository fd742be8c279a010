"""`gpuward policy check|apply`."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from gpuward.console.cli.answer import Answer, answered
from gpuward.console.cli.exits import Unreachable
from gpuward.console.cli.options import PLAIN, Options
from gpuward.console.cli.reach import advice, producer_of
from gpuward.console.policy_record import tell
from gpuward.contracts.errors import Transient
from gpuward.contracts.policy import Policy
from gpuward.runtime import policy as policy_of
from gpuward.runtime.settings import Settings


@answered
def check(file: Path | None = None, /, *, options: Options = PLAIN) -> Answer:
    """Read a policy file and say whether it is one; exit 1 when it is not.

    Parameters
    ----------
    file
        The file; without it the one that the settings name, or the default that is shipped.

    """
    policy = _load(file, options.settings())
    _compile(policy)
    return Answer(_document(policy), _screen(policy))


@answered
async def apply(file: Path | None = None, /, *, options: Options = PLAIN) -> Answer:
    """Tell every pool its policy; the streams read the file when they start.

    Parameters
    ----------
    file
        The file; without it the one that the settings name, or the default that is shipped.

    """
    settings = options.settings()
    policy = _load(file, settings)
    _compile(policy)
    async with producer_of(settings) as producer:
        try:
            told = await tell(producer, policy, datetime.now(UTC))
        except Transient as error:
            raise Unreachable(f"Not every pool was told: {error}. {advice(settings)} Then apply it again.") from error
    document = {
        **_document(policy),
        "schema": "gpuward.policy-applied/1",
        "revision": told[0].revision if told else None,
    }
    text = f"Policy {policy.version} was told to {', '.join(str(change.entity) for change in told) or 'no pool: it has none'}."
    return Answer(document, text)


def _load(file: Path | None, settings: Settings) -> Policy:
    return policy_of.load(file or settings.policy_file or in_stack(settings))


def in_stack(settings: Settings) -> Path | None:
    """The policy file that the stack of this data directory was started with, where it was started with one."""
    from gpuward.local.run_file import RunFile

    run = RunFile.last(settings.data)
    path = Path(run.extra["policy"]) if run and run.extra.get("policy") else None
    return path if path and path.is_file() else None


def _compile(policy: Policy) -> None:
    """Every `when:` is CEL. Raises Permanent with the expression that is not."""
    from streams.classify import Classifier

    Classifier(policy)


def _document(policy: Policy) -> dict[str, Any]:
    return {
        "schema": "gpuward.policy/1",
        "version": policy.version,
        "pools": [pool.model_dump(mode="json") for pool in policy.pools],
        "rules": len(policy.faults),
    }


def _screen(policy: Policy) -> Group:
    table = Table("pool", "mode", "selects", "at once", "per rack", "floor", box=None, header_style="dim")
    for pool in policy.pools:
        selects = ", ".join(f"{label}={value}" for label, value in pool.select.items()) or "every node"
        budget = pool.budget
        table.add_row(
            pool.name, pool.mode, selects, str(budget.concurrent), str(budget.per_rack), f"{budget.floor_pct:g} %"
        )
    return Group(Text(f"Policy {policy.version}: {len(policy.faults)} rules for faults."), table)
