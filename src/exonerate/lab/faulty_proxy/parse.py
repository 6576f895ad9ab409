"""Reads a rules file (TOML or JSON) into a `Behaviour`; errors name the file and the key."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from exonerate.errors import ExonerateError
from exonerate.lab.compare import Compare, read_compare
from exonerate.lab.faulty_proxy.rules import (
    ACTIONS,
    AT_A_MOMENT,
    Action,
    Behaviour,
    Downstream,
    InventEnding,
    Rule,
    Trigger,
    Upstream,
    When,
)
from exonerate.lab.tables import WrongTable, build, nearest, read_tables

TOP = ("rule", "downstream", "upstream", "seed")
RULE = ("name", "when", "at", "do")


def read_behaviour(path: Path) -> Behaviour:
    """The behaviour that a file describes.

    Raises:
        ExonerateError: the file cannot be read, or holds something that cannot be.
    """
    try:
        return parse_behaviour(read_tables(path))
    except WrongTable as error:
        raise ExonerateError(
            f"`{path}`: {error}", "see the section on rules in docs/lab.md for the grammar"
        ) from error


def parse_behaviour(tables: Mapping[str, object]) -> Behaviour:
    """The behaviour that parsed tables describe."""
    for key in tables:
        if key not in TOP:
            raise WrongTable(f"{key} is not known{nearest(key, list(TOP))}")
    rules = tables.get("rule", [])
    if not isinstance(rules, list):
        raise WrongTable("rule must be a list of tables: write [[rule]]")
    seed = tables.get("seed", 1)
    if not isinstance(seed, int):
        raise WrongTable("seed must be a whole number")
    return Behaviour(
        rules=tuple(_rule(table, f"rule[{index}]") for index, table in enumerate(rules)),
        downstream=build(Downstream, tables.get("downstream", {}), "downstream", {}),
        upstream=build(Upstream, tables.get("upstream", {}), "upstream", {}),
        seed=seed,
    )


def _rule(table: object, where: str) -> Rule:
    if not isinstance(table, Mapping):
        raise WrongTable(f"{where} must be a table")
    for key in table:
        if key not in RULE:
            raise WrongTable(f"{where}.{key} is not known{nearest(str(key), list(RULE))}")
    if "do" not in table:
        raise WrongTable(f"{where}.do is missing; it names the action")
    action = _action(table["do"], f"{where}.do")
    trigger = build(Trigger, table.get("at", {}), f"{where}.at", {})
    _check_moment(action, trigger, where)
    return Rule(
        name=str(table.get("name", where)),
        when=build(When, table.get("when", {}), f"{where}.when", {Compare: read_compare}),
        trigger=trigger,
        action=action,
    )


def _check_moment(action: Action, trigger: Trigger, where: str) -> None:
    if trigger.at_once and isinstance(action, InventEnding):
        raise WrongTable(f"{where}.at is missing; an ending is invented at some moment")
    if not trigger.at_once and not isinstance(action, AT_A_MOMENT):
        raise WrongTable(f"{where}.at does not go with this action, which holds for a whole answer")


def _action(value: object, where: str) -> Action:
    table = {"action": value} if isinstance(value, str) else value
    if not isinstance(table, Mapping) or not isinstance(table.get("action"), str):
        raise WrongTable(f"{where} must be an action's name, or a table with `action`")
    name = str(table["action"])
    if name not in ACTIONS:
        raise WrongTable(f"{where}: there is no action `{name}`{nearest(name, list(ACTIONS))}")
    options = {key: option for key, option in table.items() if key != "action"}
    return build(ACTIONS[name], options, where, {})
