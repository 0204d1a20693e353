"""A hundred first commands, as people write them who know the name of the tool, its README and other tools.

Each stands beside the command that was meant, with the place from which the spelling comes: the option or the word of
another tool, a convention of shells or of parsers, or a habit. Where two readings are possible, or something is left
out that only the user knows, the command ends with one message; ``said`` is in it, and ``meant`` is the cure.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class First:
    """A command as typed, where its spelling comes from, and the command that was meant."""

    typed: str
    source: str
    meant: str
    said: str = ""


ANON = "anonymize patients.csv -k 5 --quasi age,sex,zip --sensitive disease -o out.csv"
PLAIN = "anonymize patients.csv -k 5 --quasi age,sex,zip --unassigned drop -o out.csv"
RISK = "risk patients.csv --quasi age,sex,zip"
COUNTS = (
    "counts people.csv --unit household --regions state,county --region-list regions.csv --max-size 8 "
    "--epsilon 1 --neighbors add-remove-person -o households.csv"
)
SELECT = (
    "select --coverage reach.csv --matroid uniform:5 --candidates districts.csv --epsilon 1 "
    "--neighbors add-remove-one"
)
DESIGN = "design places.csv --unit km --epsilon 2/km --loss euclidean -o places.channel"
GRID = "design --grid 7x7 --cell 0.5 --unit km --epsilon 2/km --loss euclidean"
SAMPLE = "sample places.channel --secret 3 -n 10"
SERVE = "serve --bbox 41.87,12.45,41.92,12.53 --cell 0.5 --epsilon 2/km --port 8080"
LOCATE = "locate - --server http://127.0.0.1:8080"

ARX = "ARX, anonymization tool"
SDC = "sdcMicro, createSdcObj()"
PYCANON = "pyCANON, command line and API"
TUMULT = "Tumult Analytics, Session"
OPENDP = "OpenDP, Context"
SMARTNOISE = "SmartNoise SQL"
APRICOT = "apricot, selection classes"
OSMNX = "OSMnx, graph_from_bbox()"
UVICORN = "uvicorn and gunicorn, command line"
ARGPARSE = "Python's argparse"
GETOPT = "GNU getopt_long"
HABIT = "habit of writing"
TYPO = "a slip of the finger"

COMMANDS = (
    # Tables
    First(ANON, "the README", ANON),
    First(ANON.replace("-k 5", "--k 5"), "issue list", ANON),
    First(ANON.replace("-k 5", "--k=5"), GETOPT, ANON),
    First(ANON.replace("-k 5", "-k5"), GETOPT, ANON),
    First(ANON.replace("-k 5", "-K 5"), HABIT, ANON),
    First(ANON.replace("-k 5", "\u2013k 5"), "a hyphen that a word processor made a dash", ANON),
    First(ANON.replace("--quasi", "\u2014quasi"), "the same", ANON),
    First(ANON.replace("-k 5", "--k-anonymity 5"), PYCANON, ANON),
    First(ANON.replace("--quasi", "--qi"), PYCANON, ANON),
    First(ANON.replace("--quasi age,sex,zip", "--qi age --qi sex --qi zip"), PYCANON, ANON),
    First(
        ANON.replace("--quasi", "--quasi_ident").replace("--sensitive", "--sens_att"), PYCANON, ANON
    ),
    First(ANON.replace("--quasi", "--quasi-identifiers"), "the literature", ANON),
    First(ANON.replace("--quasi", "--quasi_identifiers"), HABIT, ANON),
    First(ANON.replace("--quasi", "--quasi-identifying"), ARX, ANON),
    First(ANON.replace("--quasi", "--keyVars").replace("--sensitive", "--sensibleVar"), SDC, ANON),
    First(ANON.replace("--quasi", "--qids"), "anonypy and others", ANON),
    First(ANON.replace("age,sex,zip", "age, sex, zip"), HABIT, ANON),
    First(ANON.replace("age,sex,zip", "age sex zip"), ARGPARSE + ", nargs='+'", ANON),
    First(ANON.replace("age,sex,zip", "age ,sex ,zip"), HABIT, ANON),
    First(
        ANON.replace("--quasi age,sex,zip", "--quasi=age --quasi=sex --quasi=zip"),
        "click, multiple",
        ANON,
    ),
    First(ANON.replace("--sensitive", "--sa"), PYCANON, ANON),
    First(ANON.replace("--sensitive", "--sensitive-attribute"), ARX, ANON),
    First(ANON.replace("--sensitive", "--sens"), ARGPARSE + ", allow_abbrev", ANON),
    First(ANON.replace("patients.csv", "--input patients.csv"), "many tools", ANON),
    First(ANON.replace("patients.csv", "-i patients.csv"), "ffmpeg, pandoc and others", ANON),
    First(ANON.replace("patients.csv", "--data patients.csv"), SDC + " (dat=)", ANON),
    First(ANON.replace("-o", "--out"), GETOPT, ANON),
    First(ANON.replace("-o", "--output-file"), "curl's long cousins", ANON),
    First(ANON.replace("anonymize", "anonymise"), "British spelling", ANON),
    First(ANON.replace("anonymize", "Anonymize"), HABIT, ANON),
    First(ANON.replace("anonymize", "k-anonymize"), "the literature", ANON),
    First(f"{ANON} --timeout 5", "requests, subprocess", f"{ANON} --time-limit 5"),
    First(f"{ANON} --time_limit 5", "OR-Tools, SciPy's milp", f"{ANON} --time-limit 5"),
    First(f"{ANON} --threads=2", GETOPT, f"{ANON} --threads 2"),
    First(f"{ANON} --n_jobs 2", "scikit-learn", f"{ANON} --threads 2"),
    First(f"{ANON} -j 2", "make", f"{ANON} --threads 2"),
    First(f"{ANON} --gap 5%", HABIT, f"{ANON} --gap 0.05"),
    First(f"{ANON} --l 2", "the literature", f"{ANON} --l-diversity 2"),
    First(f"{ANON} --ldiversity 2", SDC, f"{ANON} --l-diversity 2"),
    First(f"{ANON} --hierarchy zip=zip.csv", ARX, f"{ANON} --taxonomy zip=zip.csv"),
    First(f"{ANON} --identifiers name", ARX, f"{ANON} --drop name"),
    First(f"{ANON} --numVars age", SDC, f"{ANON} --numeric age"),
    First(f"{ANON} --silent", "curl", f"{ANON} --quiet"),
    First(f"{ANON} --algorithm mondrian", ARX + ", anonypy", f"{ANON} --method mondrian"),
    First(RISK.replace("--quasi", "--qi"), PYCANON, RISK),
    First(RISK.replace("risk", "risks"), HABIT, RISK),
    First("anonymize patients.csv", "a first try", ANON, "anonymize patients.csv -k 5"),
    First(
        "anonymize patients.csv -k 5", "a first try", ANON, "anonymize patients.csv -k 5 --quasi"
    ),
    First("anonymize -k 5 --quasi age,sex,zip -o out.csv", "the file forgotten", ANON, "TABLE"),
    First(
        "anonymize pateints.csv -k 5 --quasi age --unassigned drop -o out.csv",
        TYPO,
        PLAIN,
        "did you mean patients.csv?",
    ),
    First(ANON.replace("--quasi", "--quazi"), TYPO, ANON, "--quasi"),
    First(ANON.replace("anonymize", "anonimize"), TYPO, ANON, "the nearest is anonymize"),
    First("patients.csv -k 5 --quasi age,sex,zip", "a file first, as in pandoc", ANON, "anonymize"),
    First(
        PLAIN.replace(" --unassigned drop", ""),
        "the rest of the columns forgotten",
        PLAIN,
        "--unassigned drop",
    ),
    First(ANON.replace("-k 5", "-k five"), HABIT, ANON, "-k"),
    # Counts
    First(COUNTS, "the README", COUNTS),
    First(COUNTS.replace("counts", "count", 1), "singular", COUNTS),
    First(COUNTS.replace("--epsilon", "--eps"), "issue list; SmartNoise", COUNTS),
    First(
        COUNTS.replace("--epsilon 1", "--epsilon=1.0"),
        SMARTNOISE,
        COUNTS.replace("--epsilon 1", "--epsilon 1.0"),
    ),
    First(COUNTS.replace("--epsilon", "-epsilon"), "Java's long options with one dash", COUNTS),
    First(COUNTS.replace("--epsilon", "--privacy-budget"), TUMULT, COUNTS),
    First(COUNTS.replace("--epsilon", "--privacy_loss"), OPENDP, COUNTS),
    First(COUNTS.replace("--neighbors", "--neighbours"), "British spelling", COUNTS),
    First(COUNTS.replace("--neighbors", "--protected-change"), TUMULT, COUNTS),
    First(COUNTS.replace("add-remove-person", "add_remove_person"), HABIT, COUNTS),
    First(COUNTS.replace("--unit", "--privacy-unit"), OPENDP, COUNTS),
    First(COUNTS.replace("--unit", "--privacy_key"), SMARTNOISE, COUNTS),
    First(COUNTS.replace("--unit", "--hhId"), SDC, COUNTS),
    First(COUNTS.replace("--regions", "--region"), "singular", COUNTS),
    First(COUNTS.replace("--regions", "--geolevels"), "TopDown, the US Census Bureau's", COUNTS),
    First(COUNTS.replace("--regions", "--groupby"), "pandas, Tumult Analytics", COUNTS),
    First(COUNTS.replace("state,county", "state county"), ARGPARSE, COUNTS),
    First(COUNTS.replace("--max-size", "--max_size"), HABIT, COUNTS),
    First(COUNTS.replace("--max-size", "--maxsize"), HABIT, COUNTS, "--max-size"),
    First(
        "counts people.csv --epsilon 1", "a first try", COUNTS, "counts people.csv --unit household"
    ),
    First(
        COUNTS.replace(" --neighbors add-remove-person", ""),
        "the neighbors forgotten",
        COUNTS,
        "--neighbors",
    ),
    First(
        COUNTS.replace("add-remove-person", "unbounded"),
        "the literature",
        COUNTS,
        "add-remove-person",
    ),
    First(COUNTS.replace("--epsilon 1", "--epsilon 100%"), HABIT, COUNTS, "--epsilon"),
    # Choices
    First(SELECT, "the guide", SELECT),
    First(SELECT.replace("--candidates", "--items"), "submodlib and others", SELECT),
    First(SELECT.replace("--candidates", "--ground_set"), "the literature", SELECT),
    First(SELECT.replace("--matroid", "--constraint"), "the literature", SELECT),
    First(SELECT.replace("--coverage", "--edges"), "graph tools", SELECT),
    First(SELECT.replace("select", "choose"), "the guide's title", SELECT),
    First(SELECT.replace("uniform:5", "5"), APRICOT + " (n_samples)", SELECT, "uniform:R"),
    First(
        SELECT.replace("--coverage reach.csv ", ""), "the records forgotten", SELECT, "--coverage"
    ),
    # Channels
    First(DESIGN, "the README", DESIGN),
    First(DESIGN.replace("--epsilon 2/km", "--epsilon '2 / km'"), HABIT, DESIGN),
    First(DESIGN.replace("2/km", "2/kilometer"), HABIT, DESIGN),
    First(DESIGN.replace("2/km", "'2 per km'"), "the printed guarantee", DESIGN),
    First(DESIGN.replace("--unit km", "--unit kilometers"), HABIT, DESIGN),
    First(GRID.replace("7x7", "7"), "torch and others: one size for both sides", GRID),
    First(GRID.replace("7x7", "7X7"), HABIT, GRID),
    First(GRID.replace("7x7", "7,7"), "NumPy's shapes", GRID),
    First(GRID.replace("--cell 0.5", "--cell 500m"), HABIT, GRID),
    First(GRID.replace("--cell 0.5", "--resolution 0.5"), "GDAL, raster tools", GRID),
    First(SAMPLE.replace("-n 10", "--n 10"), HABIT, SAMPLE),
    First(SAMPLE.replace("-n 10", "--size 10"), "NumPy's random", SAMPLE),
    First(DESIGN.replace(" --epsilon 2/km", ""), "the budget forgotten", DESIGN, "--epsilon"),
    # Places
    First(SERVE.replace("--bbox", "--bounding-box"), "GIS tools", SERVE),
    First(
        SERVE.replace("41.87,12.45,41.92,12.53", "41.87N,12.45E,41.92N,12.53E"),
        "issue list: degrees",
        SERVE,
    ),
    First(SERVE.replace("41.87,12.45,41.92,12.53", "'41.87, 12.45, 41.92, 12.53'"), HABIT, SERVE),
    First(SERVE.replace("--port", "-p"), "docker, flask", SERVE),
    First(SERVE.replace("serve", "server"), HABIT, SERVE),
    First(LOCATE.replace("--server", "--url"), "HTTP clients", LOCATE),
    First(
        SERVE.replace("--bbox 41.87,12.45,41.92,12.53", "--bbox -122.5,37.7,-122.4,37.8"),
        OSMNX + ": west first",
        SERVE,
        "south, west, north, east",
    ),
    First(f"{SERVE} --workers 4", UVICORN, SERVE, "--workers"),
    # Help
    First("help anonymize", "git, cargo, go", "anonymize --help"),
    First("version", "go, docker, kubectl", "--version"),
)
"""As typed after ``discreet``, in the folder that ``discreet demo --files`` makes."""
