"""Whether one more node may be disturbed now.

Law: budgets and floors are never exceeded; what is disturbed stays charged until it is validated or written off.
"""

from __future__ import annotations

from workflows.decide.slots import Asked, State


def refuses(s: State, asked: Asked) -> str | None:
    """Why not, in words for people; None when the budget has room. The node itself must not have a slot yet."""
    assert s.policy is not None
    budget = s.policy.budget
    slots = list(s.slots.values())
    if len(slots) >= budget.concurrent:
        return _full(f"the pool's budget of {budget.concurrent}", [slot.asked.node for slot in slots])
    near = [slot.asked.node for slot in slots if slot.asked.rack == asked.rack]
    if len(near) >= budget.per_rack:
        return _full(f"the budget of {budget.per_rack} per rack ({asked.rack})", near)
    for domain in asked.domains:
        inside = [slot.asked.node for slot in slots if domain in slot.asked.domains]
        if len(inside) >= budget.per_domain:
            return _full(f"the budget of {budget.per_domain} per NVLink domain ({domain})", inside)
    return _below_floor(s, asked, budget.floor_pct)


def unavailable(s: State) -> set[str]:
    """Every node that is out of service, whatever the cause; what is charged counts too."""
    return {node for level in s.racks.values() for node in level.unavailable} | set(s.slots)


def total(s: State) -> int:
    return sum(level.members for level in s.racks.values())


def _below_floor(s: State, asked: Asked, floor_pct: float) -> str | None:
    away = unavailable(s)
    if asked.node in away:
        return None
    members = total(s)
    left = members - len(away) - 1
    if left * 100 >= floor_pct * members:
        return None
    return f"{left} of {members} nodes would be left, under the floor of {floor_pct:g} %"


def _full(what: str, nodes: list[str]) -> str:
    return f"{what} is taken by {', '.join(sorted(nodes)[:4])}" if nodes else f"{what} allows none"
