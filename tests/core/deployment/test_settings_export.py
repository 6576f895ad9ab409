"""What a launch script exports, checked against bash itself."""

from __future__ import annotations

import subprocess
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from exonerate.core.deployment.knobs import effective_value, with_value
from exonerate.core.deployment.model import Knob
from exonerate.core.deployment.settings_error import UnprovableSetting

NAMES = ("A", "B", "KNOB")
KNOB = Knob(name="KNOB", service="engine", file="serve.sh", form="export")
MAIN = "exec /usr/bin/printenv -0\n"

values = st.one_of(
    st.sampled_from(["1", "512", "", "a=b", "x:y/z", "0.5", "-1"]),
    st.text(st.sampled_from("ab1 $\"'\\`#;&|~*{},!\t"), max_size=6),
)


def _bare_or_single(value: str) -> str:
    return "'" + value.replace("'", "'\\''") + "'"


def _double(value: str) -> str:
    for character in '\\"$`':
        value = value.replace(character, "\\" + character)
    return f'"{value}"'


def _escaped(value: str) -> str:
    return "".join(c if c.isalnum() or c in "=:/._-" else "\\" + c for c in value)


@st.composite
def assignments(draw: st.DrawFn) -> str:
    """`NAME=value` in one of the quoting styles, or with an expansion."""
    name, value = draw(st.sampled_from(NAMES)), draw(values)
    style = draw(st.sampled_from([_bare_or_single, _double, _escaped]))
    source = draw(st.one_of(st.just(style(value)), st.sampled_from(["$A", "${B:-7}", "$(echo 3)"])))
    return f"{name}={source}"


@st.composite
def statements(draw: st.DrawFn) -> str:
    """One line of a script, among them every trap that changes or seems to change a name."""
    one, two = draw(assignments()), draw(assignments())
    name = draw(st.sampled_from(NAMES))
    return draw(
        st.sampled_from(
            [
                *(f"export {one}", f"export {one} {two}", f"export {one}; export {two}", one),
                *(f"export {name}", f"unset {name}", f"unset -v {name}", f"# export {one}"),
                *(f"{one} true", f"{one} {two}", f"export {one} # why", f"export \\\n  {one}"),
                *(f"if true; then export {one}; fi", f"if false; then\nexport {one}\nfi"),
                *(f"f() {{ export {one}; }}", f"(export {one})", f"true && export {one}"),
                *(f"false || unset {name}", f"export {one} | true", "set -a", "set +a", "set -eu"),
                *(f"for i in 1; do export {one}; done", f"eval 'export {name}=9'", "echo hi >&2"),
                *(f'echo "{name} is ${name}" >&2', f"case x in x) export {one};; esac"),
                *(f"cat > /dev/null <<END\nexport {one}\nEND", f"[[ -n x && ${name} ]] || true"),
                *(f"{{ export {one}; }}", f"export -n {name}", f"declare -x {one}", "true &"),
                *(
                    f"{name}+=x",
                    f": ${{{name}:=5}}",
                    f"export {one} &",
                    f"while false; do {one}; done",
                ),
                *("if false; then exec true; fi", "exec 3>&2", f'export "{name}=4"'),
            ]
        )
    )


@st.composite
def scripts(draw: st.DrawFn) -> str:
    """A whole launch script; its program prints the environment that it got.

    Nothing else is printed where the program prints: a script's own words go to its errors.
    """
    body = draw(st.lists(statements(), max_size=6))
    prefix = draw(st.sampled_from(["", "", "", "KNOB=77 ", "A=$B "]))
    main = draw(st.sampled_from([MAIN, MAIN, "/usr/bin/printenv -0\n"]))
    if main == MAIN and draw(st.booleans()):
        main = f"exec env {prefix}/usr/bin/printenv -0\n"
    else:
        main = prefix + main
    return "#!/usr/bin/env bash\n" + "".join(f"{line}\n" for line in body) + main


def bash_environment(script: str, folder: Path) -> dict[str, str] | None:
    """What bash gives to the program at the end of the script; None when it did not get there."""
    path = folder / "script.sh"
    path.write_text(script)
    run = subprocess.run(
        ["/bin/bash", str(path)], env={}, capture_output=True, timeout=10, check=False
    )
    pairs = [item.split("=", 1) for item in run.stdout.decode().split("\0") if "=" in item]
    return dict(pairs) if run.returncode == 0 and pairs else None


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(scripts())
def test_what_is_provable_is_what_bash_gives_to_the_program(tmp_path: Path, script: str) -> None:
    """Every value that is stated is the one that bash puts into the program's environment."""
    environment = bash_environment(script, tmp_path)
    if environment is None:
        return
    for name in NAMES:
        try:
            value = effective_value(script.encode(), _knob(name))
        except UnprovableSetting:
            continue
        assert value == environment.get(name)


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(scripts(), st.one_of(st.none(), values.filter(lambda v: "\t" not in v)))
def test_an_edit_arrives_in_bash_and_moves_nothing_else(
    tmp_path: Path, script: str, value: str | None
) -> None:
    """After the edit bash gives the program the new value, and every other name as before."""
    before = bash_environment(script, tmp_path)
    try:
        edited = with_value(script.encode(), KNOB, value)
    except UnprovableSetting:
        return
    assert effective_value(edited, KNOB) == value
    after = bash_environment(edited.decode(), tmp_path)
    if before is None or after is None:
        return
    assert after.get("KNOB") == value
    for shell_own in ("KNOB", "_"):
        before.pop(shell_own, None)
        after.pop(shell_own, None)
    assert after == before


def _knob(name: str) -> Knob:
    return Knob(name=name, service="engine", file="serve.sh", form="export")
