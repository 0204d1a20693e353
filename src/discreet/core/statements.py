"""Every sentence that states a guarantee, an optimum or a bound, with its precondition and what proves it.

Commands, pages, the studio and ``str`` of a guarantee or an outcome fill in these templates and write no such sentence
of their own: a test reads their constants. Another one searches for a counterexample to each sentence on tiny domains.

Trusted: the guarantee rests on this code, which prints it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from collections.abc import Mapping


@final
@dataclass(frozen=True)
class Statement:
    """A sentence about a mechanism or a table, and when it is true.

    Parameters
    ----------
    template
        Text with names in braces.
    precondition
        Condition under which the sentence is true.
    basis
        Theorem, or page of the documentation, that proves it.
    """

    template: str
    precondition: str
    basis: str


STATEMENTS: Mapping[str, Statement] = {
    "pure differential privacy": Statement(
        "{epsilon}-differentially private (neighbors: {neighbors}): no output is more than {factor} times likelier on "
        "one dataset than on a neighbor",
        "The factor is e^epsilon.",
        "[DMNS06]_, Definition 1",
    ),
    "approximate differential privacy": Statement(
        "({epsilon}, {delta})-differentially private (neighbors: {neighbors}): no set of outputs has more than "
        "{factor} times the probability on one dataset than on a neighbor, plus {delta}",
        "The factor is e^epsilon.",
        "[DR14]_, Definition 2.4",
    ),
    "zero-concentrated differential privacy": Statement(
        "{rho}-zero-concentrated differentially private (neighbors: {neighbors}): the Rényi divergence of each order "
        "a > 1 between neighbors is at most {rho} a",
        "The divergence is in nats.",
        "[BS16]_, Definition 1.1",
    ),
    "metric privacy": Statement(
        "metric differential privacy at {epsilon} per {unit}{where}: no report is more than e^({epsilon} d) times "
        "likelier from one {secret} than from another at d {unit}{beyond}",
        "d is the distance that is stored; that of geodesics follows where d may be longer than they are.",
        "[CABP13]_, Definition 1",
    ),
    "chains of constraints": Statement(
        "for all pairs of the {n} secrets this implies {epsilon} per {unit}, through chains of constraints{links}",
        "Chains of constrained pairs join all secrets; epsilon is the largest length of a shortest chain by distance.",
        "docs/theory/metricdp/spanner.md",
    ),
    "geodesics": Statement(
        "; d is at most {times}the geodesic of WGS 84, by which this is {epsilon} per {unit}",
        "Distances are those of the plane of a region, which lengthens no great circle.",
        "docs/theory/lrgeo-mechanism.md",
    ),
    "k-anonymity": Statement(
        "{k}-anonymous in {columns}: each combination of their published values is shared by {k} {units} or more",
        "Classes are counted on the published cells.",
        "[Swe02]_, Definition 2",
    ),
    "rows that fit": Statement(
        "Anyone who knows {columns} of a person finds {k} rows or more that fit, or none.",
        "k-anonymity in these columns; a row fits if each of its cells covers the known value.",
        "[Swe02]_, Definition 2",
    ),
    "one value in a class": Statement(
        "{rows} of {total} rows are in {classes} with one value of {column} each, missing values "
        "aside: anyone who finds the class of such a row knows its value, if it is not missing.",
        "A missing value counts only in a class of missing values, as one value.",
        "[MKGV07]_, Section 2",
    ),
    "guess about a person": Statement(
        "A guesser who knows all other records, and to whom both answers are equally likely before, is right at most "
        "{times} times in 100 about {question}; one who knows that records hang together may be right more often.",
        "The answers are neighboring datasets. Pure: e^eps / (1 + e^eps); with delta (e^eps + delta) / (1 + e^eps); "
        "rho: (1 + t) / 2, where t is the less of sqrt(rho / 2) and sqrt(1 - e^-rho).",
        "[KOV15]_, Theorem 2.1; Pinsker's and Bretagnolle and Huber's inequalities",
    ),
    "guess between two secrets": Statement(
        "A guesser to whom two {noun}s up to {distance} apart are equally likely, and no others possible, is right at "
        "most {times} times in 100 after one report.",
        "Metric privacy between both; the report depends on the secret alone.",
        "[CABP13]_, Section 3",
    ),
    "odds between two secrets": Statement(
        "A blind guess is right 50 times in 100. In odds: whatever someone believed before, one report shifts the odds "
        "between the two by a factor of at most {factor}.",
        "The report depends on the secret alone.",
        "[CABP13]_, Section 3",
    ),
    "several reports": Statement(
        "How often, in 100 tries, the best possible guess between two equally likely {noun}s is right, at most and for "
        "any method of guessing: n reports about one {noun} allow n times the epsilon. 50 is a coin.",
        "Reports are drawn independently, and depend on the secret alone.",
        "[CABP13]_, Section 3; [DMNS06]_",
    ),
    "sentence or trace": Statement(
        "A sentence of m words, or a day's trace of m reports, spends the sum: no list of m reports is more than "
        "e^({epsilon} D) times likelier from one than from another, D {unit} being the sum of the distances between "
        "them, {noun} by {noun}. At a {noun} that stays, {count} reports have epsilon {total} per {unit}.",
        "Each report is drawn from its own secret, independently; their number is public; epsilon is for all pairs.",
        "[CABP13]_, Section 3; [DMNS06]_",
    ),
    "loss by secret": Statement(
        "Half of the {noun}s lose at most {median}, {share} at most {most}, and the worst at most {worst}.",
        "Each {noun} counts once, whatever its prior; losses are expected ones, and rounded up.",
        "docs/theory/channels.md",
    ),
    "secrets outside": Statement(
        "A {noun} that is not among the {count} {noun}s, such as a word outside of the vocabulary, has no report. If a "
        "public rule replaces it by one of them, the promise is the one for its replacement, at the distances of the "
        "replacement; left as it is, or left out, it is not protected.",
        "The rule depends on the secret alone.",
        "[CABP13]_, Section 3; docs/how-to/sanitize-a-sentence.md",
    ),
    "protects nobody": Statement(
        "{parameter} protects nobody: it allows a guesser, to whom both answers are equally likely before, to be right "
        "more than 999 times in 1,000. Choose a smaller {name}.",
        "epsilon above ln 999, or rho of 20 or more: randomized response, and Gaussian noise, are as bad.",
        "[KOV15]_, Theorem 2.1; [BS16]_, Proposition 1.6",
    ),
    "delta and records": Statement(
        "Delta {delta} allows to publish all records of a person, as they are, with that probability: with {count} "
        "people or more some may be published. Choose a delta far below 1 over the number of people.",
        "(epsilon, delta)-differential privacy.",
        "[DR14]_, Section 2.3",
    ),
    "five people": Statement(
        "A household of five changes the data as five people do: for all of them together {name} counts {times}-fold.",
        "Pure differential privacy 5-fold, zero-concentrated 25-fold.",
        "[DMNS06]_; [BS16]_, Proposition 1.9",
    ),
    "five people with delta": Statement(
        "A household of five changes the data as five people do: for all of them together epsilon counts 5-fold, and "
        "delta is {delta}{nothing}.",
        "(epsilon, delta)-differential privacy; the deltas of five steps, each of e^epsilon times the one before, add "
        "up.",
        "[DR14]_, Theorem 2.2",
    ),
    "bound of channels": Statement(
        "no channel with these reports that keeps this guarantee{links} loses less",
        "Multipliers of the stated program, with the stored distances, rounded down.",
        "docs/theory/metricdp/bound.md",
    ),
    "excess over the bound": Statement(
        "{over} more than the lower bound: no channel with these reports that keeps this guarantee{links} loses less",
        "Multipliers of the stated program, with the stored distances, rounded down.",
        "docs/theory/metricdp/bound.md",
    ),
    "bounds by epsilon": Statement(
        "Nothing can lie in the shaded area, whose edge is the lower bound: a bound for a weaker promise holds for a "
        "stronger one.",
        "All entries are about one problem.",
        "docs/theory/metricdp/bound.md",
    ),
    "bound of tables": Statement(
        "no table whose equivalence classes have {k} rows or more{suppression} loses less",
        "The same columns, kinds of cells and weights. Without suppression, tables that suppress no row; with it, a "
        "suppressed row costs the weights of all columns.",
        "docs/theory/kanonymity/lower-bounds.md",
    ),
    "moved tables": Statement(
        "level {level}: the published tables differ from the unbiased estimates by {moved} standard errors (root mean "
        "square over cells), because they are whole, nonnegative and additive{why}. For the true tables at most 1 is "
        "expected.",
        "Estimates are from the measurements of a region and of those below it; squared distances are weighted by the "
        "inverse of their covariance.",
        "docs/theory/hierarchy/whole-tables.md",
    ),
    "loss of linear mechanisms": Statement(
        "loss: {what}; of signed estimates, before tables are whole, it is at most {loss}. No unbiased linear "
        "mechanism with Gaussian noise and this guarantee has one below {least}: this plan has at most {ratio} times "
        "that.",
        "Linear mechanisms publish a matrix times the counts plus Gaussian noise of any covariance; the loss of the "
        "plan is that of the parameters of its discrete Gaussian noise, which are not below its variances.",
        "docs/theory/hierarchy/workloads.md",
    ),
    "loss of all mechanisms": Statement(
        "No mechanism with this guarantee and unbiased estimates, whatever its noise, has a loss below {any} on "
        "{datasets}.",
        "Estimates are unbiased on these datasets and their neighbors.",
        "docs/theory/hierarchy/workloads.md",
    ),
    "interval": Statement(
        "each interval holds the true number with a probability of {probability}, each by itself",
        "Of the unbiased estimate from the noisy measurements, before numbers are made whole.",
        "docs/theory/hierarchy/queries.md",
    ),
    "noise of one count": Statement(
        "it is off by more than this in {misses} of all cases",
        "One measured count, before numbers are made whole.",
        "docs/theory/hierarchy/queries.md",
    ),
    "draws": Statement(
        "In each draw a candidate's chance is proportional to exp(c times its score){scope}, with c = {c} and scores "
        "in whole people.",
        "The exponential mechanism, with what was drawn before kept; on a sample, given the sample.",
        "[MT07]_, Definition 2",
    ),
    "draws by flips": Statement(
        "In each draw candidates come in random order, and the first is taken that passes: one whose score is s below "
        "the best passes with probability exp(-c s), with c = {c} and scores in whole people.",
        "Permute-and-flip, on the scores of all records.",
        "[MS20]_, Algorithm 1",
    ),
    "draws, then rounding": Statement(
        "Sets are drawn with a chance proportional to exp(c times their score), or close to it, with c = {c} and "
        "scores in whole people; the choice is rounded from all of them at random, and no law of its own is stated.",
        "The exponential mechanism on points or bases; rounding reads no record.",
        "docs/theory/submodular/accounting.md",
    ),
}
"""Name of a statement -> the statement."""


def state(name: str, /, **values: object) -> str:
    """Fill in a statement.

    Returns the sentence. KeyError for a name, or a value of the template, that is missing; further values are
    ignored.

    Parameters
    ----------
    name
        Key of :data:`STATEMENTS`.
    **values
        Values of the names in its template.

    Examples
    --------
    >>> state("noise of one count", misses="at most 5 %")
    'it is off by more than this in at most 5 % of all cases'
    """
    return STATEMENTS[name].template.format_map(values)
