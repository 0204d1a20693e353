"""Attacks: inference from the output of a mechanism, beside guesses without it.

Each attack is a file. Each finds :class:`~discreet.evaluate.attack.finding.Finding` records: how well the attacker
does, with an interval; how well a naive one does, who does not look; and how well the same attacker does against a
control group that the release does not concern. Where a claim limits what any attacker can do, the finding says whether
the limit was kept. An attack that finds nothing proves nothing.

============================  ==========================================================================================
``bayes``, ``reports``        channels: the optimal adversary, once and after many reports
``trajectory``                channels: a hidden Markov model of a person who moves and reports at every step
``linkage``, ``inference``    tables: who is found, whose sensitive value is learned
``intersection``              tables: two releases of the same people
``reconstruction``            counts: averages of repeated releases, levels that add up
``membership``                choices and whatever else can be run: was this record in the data?
``location*``                 location services: what recorded traffic tells, one attack a file
============================  ==========================================================================================
"""

from discreet.evaluate.attack.finding import DEFAULT_FAILURE, Attacked, Finding

__all__ = ["DEFAULT_FAILURE", "Attacked", "Finding"]
