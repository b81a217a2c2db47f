"""A panel of models behind OpenAI-compatible endpoints: asked one at a time, while an answer is worth its price.

Without arguments it starts a small server of its own that answers like such an endpoint, and asks that, offline:

    python examples/openai_panel.py
    python examples/openai_panel.py https://api.example.com/v1      # your endpoint; its key in OPENAI_API_KEY

Only the standard library is used for HTTP; any client will do in its place.
"""

import asyncio
import json
import os
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from quorate.live import Answer, Judge, Panel
from quorate.rng import stream

CLASSES = ["fine", "spam"]
PROMPT = "Answer with one word, fine or spam. The message: "
MODELS = {  # name: (cents per 1000 tokens, usual cents per call; of the stand-in: share right, share that fail)
    "tiny": (0.05, 0.002, 0.80, 0.02),
    "small": (0.2, 0.008, 0.88, 0.05),
    "medium": (0.6, 0.024, 0.92, 0.02),
    "large": (2.5, 0.1, 0.96, 0.02),
    "larger": (5.0, 0.2, 0.97, 0.02),
}


def ask_model(url: str, model: str, message: str) -> Answer:
    """One call of POST /chat/completions; an HTTP error or a word that is no class is the judge's failure."""
    body = {"model": model, "temperature": 0, "messages": [{"role": "user", "content": PROMPT + message}]}
    headers = {"content-type": "application/json", "authorization": f"Bearer {os.environ.get('OPENAI_API_KEY', '')}"}
    request = urllib.request.Request(f"{url}/chat/completions", json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as reply:
            said = json.load(reply)
    except urllib.error.HTTPError as error:
        error.close()  # or its socket stays open as long as the error is kept
        raise
    label = said["choices"][0]["message"]["content"].strip().strip(".").lower()
    return Answer(label, cost=said["usage"]["total_tokens"] / 1000 * MODELS[model][0])


def make_judge(url: str, model: str) -> Judge:
    """A model as a judge; `to_thread` lets other questions go on while it answers."""

    async def ask(message: str) -> Answer:
        return await asyncio.to_thread(ask_model, url, model, message)

    return Judge(model, ask, cost=MODELS[model][1])


class StandIn(BaseHTTPRequestHandler):
    """Answers POST /v1/chat/completions as an endpoint would: one word, token counts, now and then an error 503."""

    def do_POST(self) -> None:
        """One answer; the same for the same model and message."""
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        content = asked["messages"][0]["content"]
        message = content.removeprefix(PROMPT)
        skill, fails = MODELS[asked["model"]][2:]
        draws = stream(3, asked["model"], message)
        if draws.random() < fails:
            self.send_error(503)
            return
        truth = "spam" in message
        word = CLASSES[int(truth if draws.random() < skill else not truth)]
        tokens = len(content.split()) + 20
        self._reply({"choices": [{"message": {"content": f" {word.title()}."}}], "usage": {"total_tokens": tokens}})

    def _reply(self, body: object) -> None:
        text = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *args: object) -> None:
        """Stay quiet."""


@contextmanager
def stand_in() -> Iterator[str]:
    """The server, on a free port of this machine; gives the address of its API."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), StandIn)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()


async def main(url: str, num_messages: int = 200, at_once: int = 8) -> Panel:
    """Judge the messages, a few at once, and print what it cost."""
    panel = Panel([make_judge(url, model) for model in MODELS], CLASSES, audit_rate=0.1, seed=3)
    turn = asyncio.Semaphore(at_once)

    async def judge(number: int) -> None:
        async with turn:
            await panel.adecide(f"Message {number}: {'spam' if number % 3 == 0 else 'hello'}")

    await asyncio.gather(*(judge(number) for number in range(num_messages)))
    result = panel.result()
    sums = result.summary()
    print(
        f"{sums['items']} messages, {sums['votes']} votes, {sums['failures']} failed calls, {sums['tied']} ties: "
        f"{sums['cost']:.2f} cents instead of {sums['full_cost']:.2f}"
    )
    for name, row in result.by_judge().items():
        print(f"{name:8}{row['votes']:6.0f} votes{row['failures']:4.0f} failed{row['cost']:8.2f} cents")
    return panel


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asyncio.run(main(sys.argv[1].rstrip("/")))
    else:
        with stand_in() as address:
            asyncio.run(main(address))
