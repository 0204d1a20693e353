"""``studio``: pages on this machine where a table is anonymized or counts are published."""

from __future__ import annotations

import secrets
import sys
import webbrowser
from pathlib import Path
from typing import final

from discreet.cli.calls import from_options
from discreet.cli.options import JsonOption
from discreet.cli.output import emit
from discreet.core.extras import require
from discreet.core.option_groups import option


@final
class StudioOptions(JsonOption):
    """Options of ``studio``."""

    port: int = option("Port; 0 lets the system choose.", default=0)
    browser: bool = option(
        "Open the page in the browser.", None, "--browser/--no-browser", default=True
    )
    ledger: str = option(
        "The ledger that the page of counts proposes.", "FILE", default="discreet-ledger.db"
    )
    sample: bool = option("Begin with synthetic patients, to try the page.", default=False)


@from_options(
    StudioOptions, examples=("discreet studio --sample", "discreet studio --port 8090 --no-browser")
)
def studio(options: StudioOptions) -> int:
    """Anonymize a table, or publish counts, on pages in the browser, served by this machine to itself.

    Choose a file, mark columns, see the risk, choose k, watch the search, see the risk after, download the table and
    its certificate. Or choose a file, say what is public, grant a budget, see what each epsilon costs, and publish
    counts, charged to a ledger. Nothing leaves this machine. The address holds a secret of this run: who has it and
    sits at this machine sees the pages. What was loaded is deleted when its page is closed, and when this ends, on
    Ctrl-C; a ledger stays.
    """
    require("studio", "studio")
    from discreet.studio import OpenWorkspaces, create_studio
    from discreet.web import bind
    from discreet.web import serve as run

    # Asked of the system now; the page would only find it unreadable.
    Path(options.ledger).exists()
    token, workspaces = secrets.token_urlsafe(32), OpenWorkspaces()
    try:
        with bind("127.0.0.1", options.port) as bound:
            host = f"127.0.0.1:{bound.getsockname()[1]}"
            url = f"http://{host}/{token}/{'#sample' if options.sample else ''}"

            def started(_: str) -> None:
                text = f"{url}\nCtrl-C ends it."
                emit("studio", options, {"url": url}, text)
                sys.stdout.flush()
                if options.browser:
                    webbrowser.open(url)

            app = create_studio(workspaces, host=host, token=token, ledger=Path(options.ledger))
            run(app, bound, on_started=started)
    finally:
        workspaces.close()
    return 0
