#!/bin/sh
# Look at the report in headless Chromium. Installs it with the system's package manager when it may, and says
# NOT RUN, without failing, when it can't: a missing browser says nothing about the report.
set -eu
cd "$(dirname "$0")/../.."
PYTEST="${PYTEST:-.venv/bin/pytest}"

find_browser() {
    for name in chromium chromium-browser google-chrome chrome; do
        if command -v "$name" >/dev/null 2>&1; then
            command -v "$name"
            return 0
        fi
    done
    return 1
}

if ! BROWSER="$(find_browser)"; then
    if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; then
        echo "browser tests: no Chromium found; asking apt-get for it"
        if ! (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium) >/dev/null 2>&1; then
            echo "NOT RUN: browser tests need Chromium, and apt-get could not install it"
            exit 0
        fi
    fi
    if ! BROWSER="$(find_browser)"; then
        echo "NOT RUN: browser tests need Chromium; install it with the system's package manager and run this again"
        exit 0
    fi
fi

echo "browser tests: $BROWSER"
# The extra -m comes last and so replaces the one of pyproject.toml, which leaves browser tests out.
DISCREET_BROWSER="$BROWSER" exec "$PYTEST" -q -m browser "$@" tests/browser
