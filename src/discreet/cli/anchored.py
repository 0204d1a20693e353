"""What the commands say and do of a channel that is never written down."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.cli.output import facts

if TYPE_CHECKING:
    from discreet.artefact import AnchoredArtefact

__all__ = ["anchored_facts", "anchored_text", "draw_anchored"]


def anchored_facts(stored: AnchoredArtefact) -> dict[str, Any]:
    """Give what a file says of its channel, as plain values."""
    channel, guarantee, provenance = stored.channel, stored.guarantee, stored.provenance
    return {
        "kind": "anchored",
        "guarantee": {**guarantee.to_dict(), "sentence": str(guarantee)},
        "unit": guarantee.unit,
        "method": provenance.method,
        "sizes": {
            "secrets": channel.n_secrets,
            "reports": channel.n_reports,
            "ball": len(channel.ball),
        },
        "rate": str(channel.rate),
        "lift": channel.lift,
        "totals_share": str(stored.totals_share),
        "certificate": stored.certificate.to_dict(),
        "provenance": provenance.to_dict(),
        "labels": None if stored.labels is None else list(stored.labels),
    }


def anchored_text(stored: AnchoredArtefact) -> str:
    """Describe a stored channel to people."""
    channel, provenance = stored.channel, stored.provenance
    rows: list[tuple[str, object]] = [
        ("guarantee", stored.guarantee),
        ("unit", stored.guarantee.unit),
        ("secrets", channel.n_secrets),
        ("reports", channel.n_reports),
        ("explicit weights", len(channel.ball)),
        ("tails fall at", f"{float(channel.rate):.6g} nats per {stored.guarantee.unit}"),
        ("epsilon for the totals", f"{stored.totals_share} of it"),
        ("method", provenance.method),
    ]
    for public in provenance.assumed_public:
        said = f"{public.name}: {public.description}, sha256 {public.digest[:16]}"
        rows.append(("assumed public", said))
    rows += [(f"  {name}", value) for name, value in provenance.parameters.items()]
    rows += [("made with", ", ".join(f"{k} {v}" for k, v in provenance.versions.items()))]
    rows += [("private", "no: made with a seed")] if provenance.seeded else []
    return f"{facts(rows)}\n\n{stored.certificate}"


def draw_anchored(stored: AnchoredArtefact, secret: int, n: int) -> tuple[dict[str, Any], str]:
    """Draw n reports; return them as plain values and as text, one a line.

    A report is the secret that it names: by label, by index, and by coordinates.
    """
    channel, labels = stored.channel, stored.labels
    drawn = channel.report_many([secret] * n).tolist()
    # Whoever made the channel may have given its reports other names than secrets have.
    known = int(channel.names.max()) < channel.n_secrets
    named = [labels[i] for i in drawn] if labels is not None and known else None
    points = channel.space.points
    data = {
        "reports": drawn,
        "secrets": drawn if known else None,
        "labels": named,
        "points": points[drawn].tolist() if points is not None and known else None,
    }
    return data, "\n".join(str(report) for report in named or drawn)
