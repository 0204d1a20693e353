"""Leakage beside that of `qif`, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from discreet.core.channels.channel import Channel
from discreet.evaluate.attack.bayes import (
    bayes_vulnerability,
    expected_error,
    g_vulnerability,
    infer,
)

pytestmark = pytest.mark.peers

PEER = """
import sys, json, numpy as np
from qif.measure import bayes_vuln, g_vuln, l_risk, shannon
data = np.load(sys.argv[1])
p, C, G, L = data["p"], data["C"], data["G"], data["L"]
print(json.dumps([
    bayes_vuln.prior(p), bayes_vuln.posterior(p, C), bayes_vuln.mult_leakage(p, C),
    bayes_vuln.min_entropy_leakage(p, C), bayes_vuln.mult_capacity(C),
    g_vuln.prior(G, p), g_vuln.posterior(G, p, C), g_vuln.add_leakage(G, p, C),
    l_risk.prior(L, p), l_risk.posterior(L, p, C),
    shannon.prior(p), shannon.posterior(p, C), shannon.add_leakage(p, C),
]))
"""


def python_with_qif() -> str:
    """The interpreter that has the group `peers`: this one, or the one that DISCREET_PEERS names."""
    python = os.environ.get("DISCREET_PEERS", sys.executable)
    done = subprocess.run([python, "-c", "import qif"], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("qif is not installed; install the group `peers`")
    return python


@pytest.mark.parametrize(("n", "k"), [(2, 2), (5, 9), (40, 30), (200, 200)])
def test_measures_are_those_of_qif(n: int, k: int, tmp_path: Path) -> None:
    python = python_with_qif()
    generator = np.random.default_rng(n)
    shares = generator.dirichlet(np.full(k, 0.3), size=n)
    weights = (shares * 2.0**61).astype(np.uint64)
    weights[np.arange(n), shares.argmax(axis=1)] += np.uint64(2**62) - weights.sum(axis=1)
    channel = Channel(weights[None])
    prior = generator.dirichlet(np.ones(n))
    gain, loss = generator.uniform(size=(7, n)), generator.uniform(size=(n, 6))
    path = tmp_path / "case.npz"
    np.savez(path, p=prior, C=channel.probabilities, G=gain, L=loss.T)
    done = subprocess.run(
        [python, "-c", PEER, str(path)], capture_output=True, check=True, text=True
    )
    guess, paid = bayes_vulnerability(channel, prior), g_vulnerability(channel, gain, prior)
    error, found = expected_error(channel, prior, loss), infer(channel, prior)
    ours = [
        guess.prior,
        guess.posterior,
        guess.multiplicative,
        guess.bits,
        2**found.capacity,
        paid.prior,
        paid.posterior,
        paid.additive,
        error.prior,
        error.posterior,
        found.entropy,
        found.entropy - found.mutual_information,
        found.mutual_information,
    ]
    assert ours == pytest.approx(json.loads(done.stdout), rel=0, abs=1e-9)
