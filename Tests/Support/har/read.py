"""Reads an HTTP archive (HAR) with haralyzer, and prints as JSON what it finds in each entry.

Usage: read.py FILE
"""

import json
import sys

from haralyzer import HarParser

with open(sys.argv[1], encoding="utf-8") as file:
    parser = HarParser(json.load(file))

if parser.version != "1.2":
    sys.exit(f"the version is {parser.version}")
entries = [entry for page in parser.pages for entry in page.entries]
print(
    json.dumps(
        [
            {
                "method": entry.request.method,
                "url": entry.url,
                "status": entry.status,
                "text": entry.response.text,
                "contentType": entry.response.contentType,
                "redirect": entry.response.redirectURL,
                "hasTime": entry.startTime is not None and entry.time >= 0 and entry.timings["wait"] >= 0,
                "port": entry.port,
                "address": entry.serverAddress,
            }
            for entry in entries
        ]
    )
)
