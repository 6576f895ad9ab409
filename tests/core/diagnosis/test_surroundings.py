"""What scenes watch beside their probes."""

from tests.support.world import PATH

from exonerate.core.deployment.parse import parse_deployment
from exonerate.core.diagnosis.surroundings import log_paths, watches
from exonerate.core.scene import ReadLog

LOGS = 'role = "proxy"\nkind = "nginx"\nlog = "access.log"\nerror_log = "/var/log/error.log"'


def test_a_log_that_is_named_is_read_in_every_scene() -> None:
    """Both logs of a hop, with its kind; nothing where none is named."""
    named = parse_deployment(PATH.replace('role = "proxy"', LOGS, 1), path="t", folder="/")
    found = [activity for activity in watches(named) if isinstance(activity, ReadLog)]
    assert [(one.name, one.path, one.kind, one.background) for one in found] == [
        ("log@edge", "access.log", "nginx", True),
        ("error-log@edge", "/var/log/error.log", "nginx", True),
    ]
    assert log_paths(named)["log@edge"] == "access.log"
    assert not log_paths(parse_deployment(PATH, path="t", folder="/"))
