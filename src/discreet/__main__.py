"""``python -m discreet``: the command line, also where the script ``discreet`` is not on the path."""

from discreet.cli import main

main()
