#!/usr/bin/env python3
"""Answers "!roll 2d6+1 to leap" in the notes of a campaign.

It stands for a bot in a chat: it follows the live feed, gives commands, and
survives restarts of the server and its own without rolling anything twice.
Python's standard library is all it needs. See README.md beside it.
"""
import json
import os
import sys
import time
import urllib.error
import urllib.request
import uuid

SERVER = os.environ.get("TALLYSTICK_SERVER", "http://127.0.0.1:8037").rstrip("/")
CAMPAIGN = SERVER + "/v1/campaigns/" + os.environ["TALLYSTICK_CAMPAIGN"]
TOKEN = os.environ["TALLYSTICK_TOKEN"]
PLACE = os.environ.get("ROLLBOT_STATE", "rollbot.n")  # file with the n of the last record that is dealt with
QUIET = 60  # seconds without even a heartbeat, after which the feed counts as lost


def ask(url, body=None, **headers):
    headers["Authorization"] = "Bearer " + TOKEN
    if body is not None:
        headers["Content-Type"], body = "application/json", json.dumps(body).encode()
    return urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=QUIET)


def command(key, kind, data):
    """Gives a command. The same key never does anything twice, so a failure is simply tried again."""
    while True:
        try:
            with ask(CAMPAIGN + "/commands", {"type": kind, "data": data}, **{"Idempotency-Key": str(key)}) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code < 500 and error.code != 429:
                return json.load(error)  # a problem, as RFC 9457 has it
            time.sleep(float(error.headers.get("Retry-After", 1)))
        except OSError:
            time.sleep(1)


def events(last):
    """Records behind record `last`, for ever; None for "from now on"."""
    while True:
        try:
            with ask(CAMPAIGN + "/events?type=note.added", **({"Last-Event-ID": str(last)} if last is not None else {}),
                     Accept="text/event-stream") as feed:
                event, live = {}, last is not None
                for line in feed:
                    name, _, value = line.decode().rstrip("\n").partition(": ")
                    if name:
                        event[name] = value
                        continue
                    if event.get("event") == "backlog.end":
                        live = True
                        print("it follows the feed", flush=True)
                    elif "id" in event:
                        last = int(event["id"])
                        if live:
                            yield json.loads(event["data"])
                    event = {}
        except urllib.error.HTTPError as error:
            if error.code in (400, 401, 403, 404):
                sys.exit(f"{error.code}: {error.read().decode()}")  # trying again does not help
        except OSError as error:
            print("the feed broke off:", error, file=sys.stderr)
        time.sleep(1)


def answer(record, me):
    words = record["data"]["text"].split(maxsplit=2)
    if len(words) < 2 or words[0] != "!roll" or record["by"] == me:
        return
    key = uuid.uuid5(uuid.UUID(record["id"]), "roll")  # follows from the record: never rolled twice
    got = command(key, "roll", {"expression": words[1], "purpose": " ".join(words[2:]) or "asked by " + record["by"]})
    if "records" in got:
        roll = got["records"][-1]["data"]
        faces = ", ".join(str(face) for _, face in roll["draws"])
        text = f'{record["by"]}: {roll["expression"]} gives {faces} = {roll["total"]} (record {got["last"]})'
    else:
        text = f'{record["by"]}: {got.get("reason") or got.get("detail")}'
    command(uuid.uuid5(uuid.UUID(record["id"]), "answer"), "note.add", {"text": text})


if __name__ == "__main__":
    with ask(SERVER + "/v1/me") as whom:
        me = json.load(whom)["handle"]
    print("rollbot is", me, flush=True)
    for record in events(int(open(PLACE).read()) if os.path.exists(PLACE) else None):
        answer(record, me)
        with open(PLACE + ".new", "w") as place:
            place.write(str(record["n"]))
        os.replace(PLACE + ".new", PLACE)
