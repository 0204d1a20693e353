"""The client of the published protocol: a report without a guarantee, and uploads that depend on the place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.outcome import Unproven
from discreet_reproduction.lrgeo.service.published import PaperClient
from published_serving import closed, paper_app
from service.running import quick, region

if TYPE_CHECKING:
    pass

HERE, THERE = (41.8934, 12.4851), (41.9041, 12.5012)


def test_the_published_protocol_gives_a_place_and_no_guarantee() -> None:
    seen: list[bytes] = []
    with closed(paper_app()) as app:
        client = PaperClient(quick(app, seen=seen, patience=5), patience=300)
        found = client.report(HERE)
    assert isinstance(found, Unproven)
    assert found.guarantee is None
    assert "function of the place" in found.reason
    assert found.result in [region().where(k) for k in range(region().K)]
    posted = [request.partition(b"\n")[0] for request in seen if request.startswith(b"POST")]
    assert posted == [b"POST /v1/cost-table", b"POST /v1/jobs"]


def test_what_the_published_protocol_uploads_depends_on_the_place() -> None:
    """The assertion about the sound mode can fail: here it does."""
    client = PaperClient(quick(paper_app(), patience=5))
    sent = [client.prepare(region().snap(place)).coefficients for place in (HERE, THERE)]
    assert sent[0].columns.tolist() != sent[1].columns.tolist()
