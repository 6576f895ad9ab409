"""What scenes watch beside their probes."""

from tests.support.world import PATH

from exonerate.core.deployment.parse import parse_deployment
from exonerate.core.diagnosis.surroundings import (
    health_pages,
    health_urls,
    log_paths,
    taps,
    watches,
    watching_packets,
)
from exonerate.core.scene import ReadLog, SampleMetrics, Scene, WatchGpus, WatchPackets

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


def test_the_deepest_health_page_of_an_engine_is_read() -> None:
    """Its own address where one is given; none where the kind is not known."""
    plain = parse_deployment(PATH, path="t", folder="/")
    assert health_urls(plain) == {}
    kind = PATH.replace('role = "engine"', 'role = "engine"\nkind = "sglang"')
    found = health_urls(parse_deployment(kind, path="t", folder="/"))
    assert found == {"engine": "http://127.0.0.1:8000/health_generate"}
    given = kind.replace("kind =", 'health = "http://127.0.0.1:8000/ready"\nkind =')
    found = health_urls(parse_deployment(given, path="t", folder="/"))
    assert found == {"engine": "http://127.0.0.1:8000/ready"}


def test_being_gentle_reads_no_page_that_makes_the_engine_compute() -> None:
    """SGLang is asked whether it is there, and an address that makes a token is left alone."""
    kind = PATH.replace('role = "engine"', 'role = "engine"\nkind = "sglang"')
    deployment = parse_deployment(kind, path="t", folder="/")
    assert health_urls(deployment, gentle=True) == {"engine": "http://127.0.0.1:8000/ping"}
    assert health_pages(deployment) == {
        "health@engine": "http://127.0.0.1:8000/health_generate",
        "health@engine/light": "http://127.0.0.1:8000/ping",
    }
    given = kind.replace('kind = "sglang"', 'health = "http://127.0.0.1:8000/health_generate"')
    assert health_urls(parse_deployment(given, path="t", folder="/"), gentle=True) == {}


def test_a_tap_listens_where_the_deployment_says() -> None:
    """And sends on to the hop's own address."""
    text = PATH.replace('role = "engine"', 'role = "engine"\ntap = "http://127.0.0.1:8001"')
    (tap,) = taps(parse_deployment(text, path="t", folder="/"))
    assert (tap.name, tap.listen_port, tap.upstream_url) == (
        "tap@engine", 8001, "http://127.0.0.1:8000",
    )  # fmt: skip


def test_an_engine_whose_log_is_read_is_asked_when_its_watchdog_speaks() -> None:
    """Once a scene, where its kind has a page for it and the file does not say it."""
    silent = PATH.replace('role = "engine"', 'role = "engine"\nkind = "sglang"')
    logged = silent.replace("kind =", 'log = "engine.log"\nkind =')
    stated = logged.replace("kind =", "watchdog_s = 300\nkind =")
    asked = []
    for text in (silent, logged, stated):
        deployment = parse_deployment(text, path="t", folder="/")
        asked.append(
            [
                (one.url, one.count)
                for one in watches(deployment, gentle=True)
                if isinstance(one, SampleMetrics) and one.name.startswith("settings@")
            ]
        )
    assert asked == [[], [("http://127.0.0.1:8000/server_info", 1)], []]
    (log,) = [one for one in watches(deployment) if isinstance(one, ReadLog)]
    assert log.engine


def test_packets_are_watched_at_every_port_of_the_path() -> None:
    """Beside whatever else a scene does, as long as it lasts."""
    deployment = parse_deployment(PATH, path="t", folder="/")
    scene = watching_packets(Scene(id="s", why="", activities=()), deployment)
    assert scene.activities == (
        WatchPackets(name="packets", ports=(8080, 8081, 8000), background=True),
    )


def test_gpus_are_watched_where_an_engine_runs_on_this_host() -> None:
    """Those of other hosts are out of reach."""
    here = parse_deployment(PATH, path="t", folder="/")
    assert [one.name for one in watches(here) if isinstance(one, WatchGpus)] == ["gpus"]
    away = parse_deployment(PATH.replace("127.0.0.1:8000", "10.0.0.7:8000"), path="t", folder="/")
    assert not [one for one in watches(away) if isinstance(one, WatchGpus)]
