"""Pages of real proxies as canonical numbers."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exonerate.core.diagnosis.admin_pages import read_admin_page

DATA = Path(__file__).parents[2] / "data"
PAGES = sorted((DATA / "pages").iterdir())
TEXTS = [page.read_text() for page in PAGES]


@pytest.mark.parametrize(
    ("file", "kind", "values"),
    [
        (
            "haproxy-2.6-stats.csv",
            "haproxy",
            {"requests_in": 10, "requests_up": 8, "workers": 6, "workers_up": 5, "breaker_open": 1},
        ),
        (
            "envoy-stats.txt",
            "envoy",
            {"requests_in": 8, "requests_up": 4, "retries": 8, "connections_up": 1, "queued": 0},
        ),
        ("envoy-clusters.txt", "envoy", {"requests_up": 8, "workers": 6, "workers_up": 6}),
        ("nginx-stub-status.txt", "nginx", {"in_flight": 0}),
        ("caddy.prom", "caddy", {"in_flight": 0, "workers": 3, "workers_up": 3}),
        ("caddy-upstreams.json", "proxy", {"workers": 6}),
        (
            "sglang-router-0.3.2-breaker.prom",
            "sglang-router",
            {"requests_in": 12, "requests_up": 10, "retries": 8, "breaker_open": 1},
        ),
        ("sglang-router-0.3.2-workers.json", "proxy", {"workers": 1, "workers_up": 1}),
    ],
)
def test_a_page_is_known_by_its_form(file: str, kind: str, values: dict[str, float]) -> None:
    """As the programs themselves wrote it."""
    found, numbers = read_admin_page((DATA / "pages" / file).read_text())
    assert found == kind
    assert {name: numbers[name] for name in values} == values


@pytest.mark.parametrize(
    "file", ["sglang-router-0.3.2-workers.json", "envoy-clusters.txt", "caddy.prom"]
)
def test_a_page_that_cannot_show_a_breaker_does_not_call_it_closed(file: str) -> None:
    """The router's list calls a worker healthy while its breaker is open."""
    assert "breaker_open" not in read_admin_page((DATA / "pages" / file).read_text())[1]


def test_workers_that_are_out_are_counted() -> None:
    """In the router's list, among Envoy's hosts and in Caddy's gauge."""
    workers = '{"workers": [{"is_healthy": true}, {"is_healthy": false, "load": 3}]}'
    assert read_admin_page(workers)[1]["breaker_open"] == 1
    hosts = "a::1.2.3.4:80::health_flags::/failed_outlier_check\na::1.2.3.5:80::rq_total::4\n"
    assert read_admin_page(hosts)[1]["breaker_open"] == 1
    gauge = 'caddy_reverse_proxy_upstreams_healthy{upstream="a:1"} 0\n'
    assert read_admin_page(gauge)[1]["breaker_open"] == 1


def test_an_engines_page_and_a_web_page_are_none_of_these() -> None:
    """They are somebody else's business."""
    engine = (DATA / "metrics" / "vllm-0.32.0.prom").read_text()
    assert read_admin_page(engine) == (None, {})
    assert read_admin_page("<html>Welcome to nginx!</html>") == (None, {})


@given(st.sampled_from(TEXTS), st.integers(0, 8000), st.integers(0, 60), st.text(max_size=9))
def test_a_damaged_page_breaks_nothing(text: str, at: int, length: int, put: str) -> None:
    """Whatever a page holds, numbers come out that can be written down."""
    _, values = read_admin_page(text[:at] + put + text[at + length :])
    assert all(value == value for value in values.values())


@given(st.text(max_size=200))
def test_any_text_is_read(text: str) -> None:
    """A page may hold anything at all."""
    read_admin_page(text)


def test_sglang_says_after_how_long_its_watchdogs_speak() -> None:
    """Of all its settings nothing else is taken; what is off is not there."""
    page = '{"model_path": "/m", "api_key": "sk-1", "watchdog_timeout": 300, "x": [1]}'
    assert read_admin_page(page) == ("engine-settings", {"watchdog_s": 300.0})
    both = '{"watchdog_timeout": 300, "soft_watchdog_timeout": 60.5}'
    assert read_admin_page(both)[1] == {"watchdog_s": 300.0, "soft_watchdog_s": 60.5}
    assert read_admin_page('{"watchdog_timeout": 0, "soft_watchdog_timeout": null}') == (None, {})
