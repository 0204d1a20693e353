"""What a ledger and the memory of a client state, added up anew.

**A ledger is false** when it is accepted and one of these does not hold:

- the charges to a dataset, all of one notion of privacy with its relation or its unit and radius, add up to no more
  than its one grant, which comes first (fractions; a pure charge to a zero-concentrated limit is ``epsilon^2 / 2``);
- what it says is left is the limit less that sum;
- where it says that it extends a digest that was noted before, its first lines and its salt are those that were noted.

**The memory of a client is false** when it is accepted and one of these does not hold:

- what was spent today is not negative, and no more than what was spent in all;
- over the epochs that follow, a report is drawn at most once in an epoch, and every fresh one is charged: what it says
  that was spent in all is what the file stated and epsilon for each, and never above the limits;
- before the next epoch, the last report is the one of the file.
"""
# ruff: noqa: C901 - a list of facts, each judged where it stands

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from contextlib import closing
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from forger.exactly import number
from forger.oracles.channels import once

if TYPE_CHECKING:
    from pathlib import Path


def ledger_is_false(path: Path, said: Any) -> str:
    """Say what is false in a ledger; `said` is what it answered: digests, and what is left by dataset."""
    with closing(sqlite3.connect(path)) as db:
        (salt,) = db.execute("SELECT salt FROM salts").fetchone()
        lines = db.execute(
            "SELECT kind, dataset, guarantee, made FROM lines ORDER BY id"
        ).fetchall()
    for noted, answer in said["noted"]:
        same = salt == noted["salt"] and lines[: len(noted["lines"])] == noted["lines"]
        if answer == "extends" and not same:
            return "it extends what it does not hold"
    granted: dict[str, dict[str, Any]] = {}
    charged: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for kind, name, text, _ in lines:
        claim = json.loads(text, object_pairs_hook=once)
        if kind == "grant":
            if name in granted:
                return "a dataset with two limits"
            granted[name] = claim
        elif name not in granted:
            return "a charge to a dataset that has no limit"
        else:
            charged[name].append(claim)
    if sorted(said["left"]) != sorted(granted):
        return "other datasets than it has"
    for name, limit in granted.items():
        sums = _sums(limit, charged[name])
        if sums is None:
            return "a charge of another notion of privacy than its limit"
        if any(spent > most for spent, most in sums):
            return "more was charged than was granted"
        if said["left"][name] != [str(most - spent) for spent, most in sums]:
            return "another rest than there is"
    return ""


def _sums(
    limit: dict[str, Any], charges: list[dict[str, Any]]
) -> list[tuple[Fraction, Fraction]] | None:
    """Add up charges by parameter of the limit: what was spent, and the most."""
    kind = limit["kind"]
    names = {
        "pure-dp": ["epsilon"],
        "approx-dp": ["epsilon", "delta"],
        "zero-concentrated-dp": ["rho"],
        "metric-dp": ["epsilon"],
    }
    spent = [Fraction(0)] * len(names[kind])
    for charge in charges:
        if kind == "metric-dp":
            same = charge["kind"] == kind and charge["unit"] == limit["unit"]
            radii = [
                None if one["radius"] is None else number(one["radius"]) for one in (charge, limit)
            ]
            amounts = [number(charge["epsilon"])]
            same = same and radii[0] == radii[1]
        else:
            same = charge["kind"] in {kind, "pure-dp"} and charge["neighbors"] == limit["neighbors"]
            if charge["kind"] == kind:
                amounts = [number(charge[name]) for name in names[kind]]
            elif kind == "approx-dp":
                amounts = [number(charge["epsilon"]), Fraction(0)]
            else:
                amounts = [number(charge["epsilon"]) ** 2 / 2]
        if not same or any(amount < 0 for amount in amounts):
            return None
        spent = [a + b for a, b in zip(spent, amounts, strict=True)]
    return list(zip(spent, [number(limit[name]) for name in names[kind]], strict=True))


def state_is_false(path: Path, said: Any) -> str:
    """Say what is false in the memory of a client; `said` is what the client did with it, epoch after epoch."""
    stated = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=once)["state"]
    today, whole = number(stated["spent_today"]), number(stated["spent_in_all"])
    if not 0 <= today <= whole:
        return "spent today what was not spent in all"
    pinned = {int(place) for place, *_ in stated["pinned"]}
    before, spent, shown = stated["epoch"], whole, stated["report"]
    per_day: dict[int, Fraction] = {}
    if stated["day"] is not None:
        per_day[stated["day"]] = today
    latest = stated["day"]
    for step in said["steps"]:
        fresh = step["spent"] != str(spent)
        if before is not None and step["epoch"] <= before:
            if fresh or (shown is not None and list(step["report"]) != list(map(float, shown))):
                return "another report within an epoch"
            continue
        if fresh:
            day = step["day"] if latest is None or step["day"] > latest else latest
            latest = day
            spent += number(said["epsilon"])
            per_day[day] = per_day.get(day, Fraction(0)) + number(said["epsilon"])
            if step["spent"] != str(spent):
                return "a report that was not charged"
            if spent > number(said["for_life"]) or per_day[day] > number(said["per_day"]):
                return "more was spent than may be"
        elif (
            step["place"] not in pinned
            and shown is not None
            and list(step["report"]) != list(map(float, shown))
        ):
            return "another report that cost nothing"
        before, shown = (
            (step["epoch"] if fresh or step["place"] in pinned else before),
            step["report"],
        )
    return ""
