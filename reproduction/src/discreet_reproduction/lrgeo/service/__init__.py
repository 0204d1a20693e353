"""The published protocol over HTTP ([QLPSX24]_, Figure 4): server, client, queue of jobs, and its recorded traffic.

It needs the packages of ``discreet[service]``. The protocol uploads what identifies the user's place.
"""
