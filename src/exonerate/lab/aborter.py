"""A client that keeps leaving in mid-answer: the load that shows what a cancel costs.

python -m exonerate.lab.aborter --base-url URL --model M --count 20 --after 0.3
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import sys
import time
from collections.abc import Sequence
from urllib.parse import urlsplit

from exonerate.lab.harness import WORDS

ANSWER_S = 10.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask, read for a while, leave; as often as the command line says."""
    options = _parser().parse_args(arguments)
    rng = random.Random(options.seed)
    parts = urlsplit(options.base_url)
    for _ in range(options.count):
        prompt = " ".join(rng.choices(WORDS, k=options.prompt_words))
        body = {
            "model": options.model,
            "messages": [{"role": "user", "content": prompt}],
            "max_tokens": options.max_tokens,
            "stream": True,
            "ignore_eos": True,
        }
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=ANSWER_S)
        try:
            headers = {"Content-Type": "application/json"}
            connection.request("POST", "/v1/chat/completions", json.dumps(body), headers)
            time.sleep(options.after)
        except OSError as error:
            sys.stderr.write(f"{error}\n")
        finally:
            connection.close()
        time.sleep(options.pause)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m exonerate.lab.aborter",
        description="A client that keeps leaving in mid-answer.",
    )
    parser.add_argument("--base-url", required=True, metavar="URL")
    parser.add_argument("--model", required=True)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--after", type=float, default=0.3, metavar="S")
    parser.add_argument("--pause", type=float, default=0.05, metavar="S")
    parser.add_argument("--prompt-words", type=int, default=20)
    parser.add_argument("--max-tokens", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    return parser


if __name__ == "__main__":
    sys.exit(main())
