#!/usr/bin/env python3
"""Check an exported campaign without trusting whoever ran the server.

    verify.py EXPORT [--checkpoint FILE]... [--vkey FILE] [--me HANDLE] [--records-only]

EXPORT is events.jsonl, or a folder with events.jsonl, checkpoint and vkey in it.
--checkpoint   a checkpoint you kept (or a friend did); the records must still fit it
--vkey         the log's verifier key, as you got it at the table
--me           say for every lane what your own secrets have protected
--records-only check records, tree and checkpoints, but no dice

Exit code: 0 everything checked is good, 1 something is wrong, 2 nothing to check.

It needs Python 3.8 and nothing else. It does not know the rules of any game: that the right
dice were asked for, in the right order, is what `tallystick replay` decides.
"""
import argparse
import base64
import collections
import hashlib
import hmac
import json
import os
import re
import sys

MAX_RECORD = 65535
MAX_CHAIN = 65536
MAX_INTEGER = 2**53 - 1


class Bad(Exception):
    """Something in the export is not as it must be."""


def require(condition, why):
    if not condition:
        raise Bad(why)


def sha256(data):
    return hashlib.sha256(data).digest()


# ---------------------------------------------------------------- records

JSON_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)
HEX32 = re.compile(r"[0-9a-f]{64}")
LANE = re.compile(r"[a-z0-9][a-z0-9.-]{0,62}")


def no_twins(pairs):
    members = dict(pairs)
    require(len(members) == len(pairs), "a key stands twice in one object")
    return members


def no_float(text):
    raise Bad("a number that is not an integer: " + ascii(text[:40]))


def safe_integer(text):
    require(len(text) <= 17 and abs(int(text)) <= MAX_INTEGER, "an integer too large: " + ascii(text[:40]))
    return int(text)


def strict_json(text):
    """JSON that every reader in the world reads alike."""
    try:
        value = json.loads(text, object_pairs_hook=no_twins, parse_float=no_float,
                           parse_constant=no_float, parse_int=safe_integer)
        if "\\u" in text:  # half of a surrogate pair is not text
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError) as error:
        raise Bad("not strict JSON: " + ascii(str(error))[:120])
    require(isinstance(value, dict), "not a JSON object")
    return value


def parse_record(line):
    require(len(line) <= MAX_RECORD, f"longer than {MAX_RECORD} bytes")
    require(b"\r" not in line, "a carriage return in it")
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        raise Bad("not UTF-8")
    record = strict_json(text)
    require(not re.search(r"\s", JSON_STRING.sub("", text)), "not compact JSON")
    for field in ("campaign", "id", "at", "by", "type"):
        string(record, field)
    integer(record, "v", 1)
    require(TIME.fullmatch(record["at"]), "its time is not in UTC with milliseconds")
    require(isinstance(record.get("data"), dict), "data is missing")
    return record


def string(data, field):
    require(isinstance(data.get(field), str) and data[field] != "", f"{field} is missing or not text")
    return data[field]


def integer(data, field, low, high=MAX_INTEGER):
    value = data.get(field)
    require(type(value) is int and low <= value <= high, f"{field} is missing or not a number in {low}..{high}")
    return value


def element(data, field):
    value = data.get(field)
    require(isinstance(value, str) and HEX32.fullmatch(value), f"{field} is missing or not 64 hex digits")
    return value


def element_or_absent(data, field):
    return "-" if data.get(field, "-") == "-" else element(data, field)


# ---------------------------------------------------------------- tree

class Tree:
    """The RFC 6962 tree, of which only the perfect subtrees at its edge are kept."""

    def __init__(self):
        self.size, self.peaks = 0, []

    def append(self, record):
        node, rest = sha256(b"\x00" + record), self.size
        while rest & 1:
            node, rest = sha256(b"\x01" + self.peaks.pop() + node), rest >> 1
        self.peaks.append(node)
        self.size += 1

    def root(self):
        if not self.peaks:
            return sha256(b"")
        node = self.peaks[-1]
        for peak in reversed(self.peaks[:-1]):
            node = sha256(b"\x01" + peak + node)
        return node


# ---------------------------------------------------------------- signatures (RFC 8032, Ed25519)

FIELD = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
CURVE_D = -121665 * pow(121666, -1, FIELD) % FIELD


def point_add(p, q):
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % FIELD, (p[1] + p[0]) * (q[1] + q[0]) % FIELD
    c, d = 2 * p[3] * q[3] * CURVE_D % FIELD, 2 * p[2] * q[2] % FIELD
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % FIELD, g * h % FIELD, f * g % FIELD, e * h % FIELD


def point_times(scalar, p):
    total = (0, 1, 1, 0)
    while scalar:
        if scalar & 1:
            total = point_add(total, p)
        p, scalar = point_add(p, p), scalar >> 1
    return total


def point_decode(data):
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & (2**255 - 1)
    if y >= FIELD:
        return None
    square = (y * y - 1) * pow(CURVE_D * y * y + 1, -1, FIELD) % FIELD
    x = pow(square, (FIELD + 3) // 8, FIELD)
    if x * x % FIELD != square:
        x = x * pow(2, (FIELD - 1) // 4, FIELD) % FIELD
    if x * x % FIELD != square or (x == 0 and sign):
        return None
    if x & 1 != sign:
        x = FIELD - x
    return x, y, 1, x * y % FIELD


def point_encode(p):
    inverse = pow(p[2], -1, FIELD)
    x, y = p[0] * inverse % FIELD, p[1] * inverse % FIELD
    return (y | (x & 1) << 255).to_bytes(32, "little")


def ed25519_good(key, message, signature):
    if len(signature) != 64:
        return False
    public, scalar = point_decode(key), int.from_bytes(signature[32:], "little")
    if public is None or scalar >= ORDER:
        return False
    base = point_decode((4 * pow(5, -1, FIELD) % FIELD).to_bytes(32, "little"))
    challenge = hashlib.sha512(signature[:32] + key + message).digest()
    challenge = int.from_bytes(challenge, "little") % ORDER
    minus = (FIELD - public[0], public[1], 1, FIELD - public[3])
    return point_encode(point_add(point_times(scalar, base), point_times(challenge, minus))) == signature[:32]


# ---------------------------------------------------------------- checkpoints

def strict_base64(text, what):
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        raise Bad(what + " is not base64")
    require(base64.b64encode(data).decode() == text, what + " is not canonical base64")
    return data


class VKey:
    """A verifier key: <origin>+<key id>+<base64 of the algorithm byte 1 and the key>."""

    def __init__(self, text):
        parts = text.split("+", 2)
        require(len(parts) == 3, "the verifier key has not three parts")
        self.text, self.origin, self.id = text, parts[0], parts[1]
        data = strict_base64(parts[2], "the verifier key")
        require(len(data) == 33 and data[0] == 1, "the verifier key is not an Ed25519 key")
        require(sha256(self.origin.encode() + b"\n" + data)[:4].hex() == self.id, "the verifier key has a wrong id")
        self.key = data[1:]


class Checkpoint:
    """A signed tree head: origin, size and root, then a blank line and signatures."""

    def __init__(self, name, data):
        self.name = name
        try:
            note = data.decode("utf-8")
        except UnicodeDecodeError:
            raise Bad("not UTF-8")
        body, blank, signatures = note.partition("\n\n")
        lines = body.split("\n")
        require(blank and len(lines) == 3, "not three lines before the signatures")
        self.text, self.origin = body + "\n", lines[0]
        require(re.fullmatch(r"0|[1-9][0-9]{0,15}", lines[1]), "its size is not a number")
        self.size, self.root = int(lines[1]), strict_base64(lines[2], "its root")
        require(len(self.root) == 32, "its root is not 32 bytes")
        self.signatures = read_signatures(signatures)

    def check_signature(self, vkey):
        require(self.origin == vkey.origin, "it is of another log than the verifier key")
        check_note(self.text, self.signatures, vkey)


def check_note(text, signatures, vkey):
    mine = [s for name, key_id, s in signatures if (name, key_id) == (vkey.origin, vkey.id)]
    require(mine, "the log did not sign it")
    require(all(ed25519_good(vkey.key, text.encode(), s) for s in mine), "its signature is wrong")


def read_signatures(block):
    require(block.endswith("\n"), "its last line has no end")
    signatures = []
    for line in block[:-1].split("\n"):
        dash, _, rest = line.partition(" ")
        name, _, encoded = rest.partition(" ")
        signature = strict_base64(encoded, "a signature")
        require(dash == "\u2014" and name and len(signature) > 4, "a line after the text is not a signature")
        signatures.append((name, signature[:4].hex(), signature[4:]))
    return signatures


class Keys:
    """The keys that sign a campaign's checkpoints, each from a record on; every one has led to the next."""

    def __init__(self, campaign, vkey):
        self.campaign, self.list, self.ends = campaign, [vkey], []
        self.log(vkey.origin)

    def log(self, origin):
        server, found, name = origin.rpartition("/campaign/")
        numbered = re.fullmatch(re.escape(self.campaign) + r"(?:/([1-9][0-9]{0,8}))?", name, re.ASCII)
        require(found and numbered and numbered.group(1) != "1", "the log is not of this campaign")
        return server, int(numbered.group(1) or 1)

    def rotated(self, record):
        data, old = record["data"], self.list[-1]
        new = VKey(string(data, "new"))
        require(string(data, "old") == old.text, "the old key is not the one that signs the checkpoints")
        require(new.origin == old.origin and new.text != old.text, "the new key is no other key of this log")
        text, _, block = string(data, "endorsed").partition("\n\n")
        require(text == f"{old.origin}\nkey.rotated\n{new.text}", "the old key does not name the new one")
        signatures = read_signatures(block)
        require(len(signatures) == 1, "another than the old key has signed for the new one")
        check_note(text + "\n", signatures, old)
        self.list.append(new)
        print(f"NOTE: the server signs with a new key from record {record['n']} on; the key before has signed for it")

    def recovered(self, record):
        data, old, n = record["data"], self.list[-1], record["n"]
        new, lost = VKey(string(data, "vkey")), Checkpoint("that was lost", string(data, "lost").encode())
        require(integer(data, "size", 0) == n, "it says that other records were left")
        require(new.key == old.key, "the new log has another key than the one before")
        require(self.log(new.origin)[0] == self.log(old.origin)[0] == self.log(lost.origin)[0], "it is of another server")
        require(self.log(new.origin)[1] > max(self.log(old.origin)[1], self.log(lost.origin)[1]), "this log was begun before")
        require(lost.size > n, "nothing is lost")
        self.list.append(new)
        self.ends.append((self.log(new.origin)[1], n))
        print(f"NOTE: the ledger was begun anew at record {n} after a loss: the last checkpoint before "
              f"covered {lost.size} records, and those from {n} on are lost")

    def left(self, checkpoint):
        """How many records were left of a checkpoint's log, where it has ended in a loss."""
        number = self.log(checkpoint.origin)[1]
        return next((n for begun, n in self.ends if begun > number), None)

    def of(self, origin):
        require(self.log(origin)[1] <= self.log(self.list[-1].origin)[1], "the ledger does not know its log")
        for key in self.list:
            data = b"\x01" + key.key
            key_id = sha256(origin.encode() + b"\n" + data)[:4].hex()
            yield VKey(f"{origin}+{key_id}+{base64.b64encode(data).decode()}")

    def check(self, checkpoint, own):
        """The signature of one of the keys; of the newest under an export of its own."""
        keys = [self.list[-1]] if own else list(self.of(checkpoint.origin))
        mine = [k for k in keys if any((name, key_id) == (k.origin, k.id) for name, key_id, _ in checkpoint.signatures)]
        for key in mine or keys[-1:]:
            checkpoint.check_signature(key)


# ---------------------------------------------------------------- dice

def words(seed, joint, lane, i, c, w):
    """The stream of 32-bit words of one roll."""
    block = 0
    while True:
        message = f"dice/v1\n{joint}\n{lane}\n{i}\n{c}\n{w}\n{block}\n".encode()
        digest = hmac.new(bytes.fromhex(seed), message, hashlib.sha256).digest()
        for at in range(0, 32, 4):
            yield int.from_bytes(digest[at:at + 4], "big")
        block += 1


def face(sides, stream):
    if sides == 1:  # nothing to draw
        return 1
    limit = 2**32 - 2**32 % sides
    return next(word for word in stream if word < limit) % sides + 1


def draws(data):
    dice = data.get("draws")
    require(isinstance(dice, list), "draws is missing")
    for die in dice:
        require(isinstance(die, list) and len(die) == 2 and all(type(x) is int for x in die), "a draw is not a pair")
        require(1 <= die[1] <= die[0] < 2**32, "a die shows a face it has not")
    return dice


def visibility(data):
    """Who may see a secret roll before it is opened, as a set that grows: nobody, who rolled, and the handles named."""
    shown = data.get("visibility", "private")
    if isinstance(shown, list):
        require(shown and all(isinstance(handle, str) and handle for handle in shown), "visibility names nobody")
        return frozenset(["who rolled", *shown])
    require(shown in ("private", "blind"), "visibility is neither private, blind nor a list")
    return frozenset(["who rolled"] if shown == "private" else [])


class Chain:
    """A hash chain: SHA-256 of an element is the element before it; element 0 was published."""

    def __init__(self, anchor):
        self.index, self.value = 0, bytes.fromhex(anchor)

    def accept(self, index, text, what):
        given = bytes.fromhex(text)
        higher, lower = (given, self.value) if index >= self.index else (self.value, given)
        for _ in range(abs(index - self.index)):
            higher = sha256(higher)
        require(higher == lower, f"{what} is not element {index} of the committed chain")
        if index > self.index:
            self.index, self.value = index, given


class Lane:
    """One stream of rolls of one principal in one session."""

    def __init__(self, data):
        self.name, self.seating = string(data, "lane"), data["seating"]
        require(LANE.fullmatch(self.name), "lane is not a lane name")
        self.n = integer(data, "n", 1, MAX_CHAIN)
        principal = data.get("principal", re.sub(r"\.[0-9]+\Z", "", self.name))
        self.secret = data.get("secret") is True or principal == "gm-secret"  # for secret rolls alone
        self.anchors = element(data, "s0"), element_or_absent(data, "c0"), element_or_absent(data, "x0")
        self.s, self.c, self.x = (None if a == "-" else Chain(a) for a in self.anchors)
        self.joint, self.gave = None, []  # the joint seed, and the lanes whose secrets are in it
        self.taken, self.declared = 0, None  # indexes used; the record that declared the last one, if open
        self.rolls, self.witnessed = 0, collections.Counter()
        # Elements of x: the highest asked for, those not answered yet, those a seating did without.
        self.asked, self.waiting, self.missed, self.stale = 0, set(), set(), set()

    def take(self, data):
        """The next roll of the lane: no index is left out or used twice."""
        i = integer(data, "i", 1)
        require(self.joint, f"lane {self.name} rolls before its seating was sealed")
        require(self.declared is None, f"lane {self.name} has a declared roll that is not resolved")
        require(i == self.taken + 1, f"index {i} of lane {self.name}, {self.taken + 1} was due")
        require(i <= self.n, f"the chain of lane {self.name} ends at {self.n}")
        self.taken = i
        return i

    def check_c(self, i, data):
        c = element_or_absent(data, "c")
        require((c == "-") == (self.c is None), f"c of lane {self.name} does not go with its seat")
        if self.c:
            self.c.accept(i, c, "c")
        return c

    def check_dice(self, i, data, w):
        seed, dice = element(data, "s"), draws(data)
        self.s.accept(i, seed, "s")
        c = self.check_c(i, data)
        stream = words(seed, self.joint, self.name, i, c, w)
        for at, (sides, shown) in enumerate(dice, 1):
            drawn = face(sides, stream)
            require(drawn == shown, f"die {at} (d{sides}) shows {shown}, the seeds give {drawn}")
        self.rolls += 1

    def ask(self, m):
        require(self.x, f"lane {self.name} has no witness chain")
        again = m == self.asked and m in self.missed
        require(again or m == self.asked + 1, f"lane {self.name} is asked for element {m}, {self.asked + 1} was due")
        if again:  # it may have been sent before, and been kept
            self.missed.remove(m)
            self.stale.add(m)
        self.asked = m
        self.waiting.add(m)

    def reveal(self, m, x):
        require(m in self.waiting and m == min(self.waiting), f"element {m} of lane {self.name} was not due")
        self.x.accept(m, x, "the witness element")
        self.waiting.remove(m)

    def owned_by(self, handle):
        return self.name == handle or re.fullmatch(re.escape(handle) + r"\.[0-9]+", self.name)


class Seating:
    """Seats that come by one joint seed."""

    def __init__(self):
        self.rows, self.ask, self.closed, self.sealed = {}, {}, False, False


class Session:
    """The lanes and seatings of one evening of play."""

    def __init__(self, campaign, name):
        self.campaign, self.name = campaign, name
        self.lanes, self.seatings, self.joint = {}, [], "-"

    def lane(self, data, field="lane"):
        name = string(data, field)
        require(name in self.lanes, f"nobody took the seat of lane {ascii(name)}")
        return self.lanes[name]

    def seating(self, data):
        number = integer(data, "seating", 1)
        require(number <= len(self.seatings), f"nobody took a seat in seating {number}")
        return self.seatings[number - 1]

    def take_seat(self, data):
        number = integer(data, "seating", 1, len(self.seatings) + 1)
        lane = Lane(data)
        require(lane.name not in self.lanes, "this seat was taken before")
        if number > len(self.seatings):
            self.seatings.append(Seating())
        seating = self.seatings[number - 1]
        require(not seating.closed, "the seating was closed before")
        seating.rows[lane.name], self.lanes[lane.name] = "-", lane

    def close_seating(self, data):
        seating = self.seating(data)
        require(not seating.closed, "the seating was closed before")
        for asked in data.get("ask", []):
            lane, m = self.lane(asked), integer(asked, "m", 1)
            require(lane.name not in seating.ask, f"lane {lane.name} is asked twice")
            require(lane.name in seating.rows or lane.joint, f"lane {lane.name} has no sealed seat to witness from")
            lane.ask(m)
            seating.ask[lane.name] = m
        for name in seating.rows:
            require(self.lanes[name].x is None or name in seating.ask, f"lane {name} has a secret to give and is not asked")
        for name in seating.ask:
            seating.rows.setdefault(name, "-")
        seating.closed = True

    def reveal(self, data):
        seating, lane, m = self.seating(data), self.lane(data), integer(data, "m", 1)
        require(seating.closed and not seating.sealed, "revealed before the seating was closed, or after it was sealed")
        require(seating.ask.get(lane.name) == m, f"lane {lane.name} was not asked for element {m}")
        lane.reveal(m, element(data, "x"))
        seating.rows[lane.name] = data["x"]

    def seal_seating(self, data):
        seating = self.seating(data)
        require(seating.closed and not seating.sealed, "sealed before it was closed, or twice")
        text = f"dice-joint/v1\n{self.campaign}\n{self.name}\n{data['seating']}\n{self.joint}\n"
        for name in sorted(seating.rows):
            lane = self.lanes[name]
            text += " ".join([name, str(lane.n), *lane.anchors, seating.rows[name]]) + "\n"
        require(sha256(text.encode()).hex() == element(data, "joint"), "the joint seed does not follow from the seats")
        missing = sorted(name for name in seating.ask if seating.rows[name] == "-")
        require(sorted(data.get("missing", [])) == missing, "who did not reveal is not what it says")
        for name in missing:
            lane, m = self.lanes[name], seating.ask[name]
            lane.waiting.remove(m)
            lane.missed.add(m)
        seating.sealed, self.joint = True, data["joint"]
        gave = [name for name in sorted(seating.rows) if seating.rows[name] != "-"]
        fresh = [name for name in gave if seating.ask[name] not in self.lanes[name].stale]
        for name in seating.rows:
            if self.lanes[name].joint is None:
                self.lanes[name].joint, self.lanes[name].gave = self.joint, fresh


class Table:
    """All sessions of a campaign; every event that has to do with dice is checked here."""

    def __init__(self):
        self.sessions, self.declared, self.seals = {}, {}, {}
        self.count, self.unknown = collections.Counter(), collections.Counter()

    def session(self, record):
        name = string(record["data"], "session")
        return self.sessions.setdefault(name, Session(record["campaign"], name))

    def event(self, record):
        kind = record["type"]
        check = self.CHECKS.get(kind)
        if check:
            self.count[kind] += 1
            check(self, record, record["data"])
        elif carries_seed(record["data"]):
            self.unknown[kind] += 1

    def seat_taken(self, record, data):
        self.session(record).take_seat(data)

    def seating_closed(self, record, data):
        self.session(record).close_seating(data)

    def seat_revealed(self, record, data):
        self.session(record).reveal(data)

    def seating_sealed(self, record, data):
        self.session(record).seal_seating(data)

    def roll_made(self, record, data):
        if data.get("source") == "physical":
            require("s" not in data and "i" not in data, "a physical roll has no seed")
            draws(data)
            self.count["physical"] += 1
            return
        self.check_call(data)
        lane = self.session(record).lane(data)
        require(not lane.secret, f"lane {lane.name} is for secret rolls")
        require(element_or_absent(data, "w") == "-", "a witness element in a roll that was not declared")
        lane.check_dice(lane.take(data), data, "-")

    def check_call(self, data):
        if "call" in data:
            called = self.seals.get(integer(data, "call", 0), {})
            require(called.get("kind") == "target", "the target was not sealed before the roll")

    def roll_declared(self, record, data):
        session = self.session(record)
        lane = session.lane(data)
        i = lane.take(data)
        declared = {"session": session, "lane": lane, "i": i, "c": lane.check_c(i, data), "asked": set()}
        self.ask_witness(declared, data.get("witness"))
        lane.declared = record["n"]
        self.declared[record["n"]] = declared

    def ask_witness(self, declared, asked):
        declared["witness"] = None
        if asked is None:
            return
        require(isinstance(asked, dict), "the witness is not named")
        witness, m = declared["session"].lane(asked), integer(asked, "m", 1)
        require(witness is not declared["lane"], "the roller is its own witness")
        require(witness.name not in declared["asked"], "the same witness is asked twice")
        require(witness.joint, f"the seating of witness {witness.name} is not sealed")
        witness.ask(m)
        declared["asked"].add(witness.name)
        declared["witness"] = witness, m

    def open_declaration(self, data):
        declared = self.declared.get(integer(data, "declared", 0))
        require(declared, "no open declaration has this number")
        return declared

    def close_declaration(self, data):
        """Takes the declaration off the list, and the witness's answer with it."""
        declared, w = self.open_declaration(data), element_or_absent(data, "w")
        if declared["witness"]:
            witness, m = declared["witness"]
            if w == "-":
                witness.waiting.remove(m)
            else:
                witness.reveal(m, w)
        else:
            require(w == "-", "a witness element, but no witness was asked")
        del self.declared[data["declared"]]
        declared["lane"].declared = None
        return declared, w

    def roll_resolved(self, record, data):
        self.check_call(data)
        declared, w = self.close_declaration(data)
        lane, i = declared["lane"], declared["i"]
        there = self.session(record), string(data, "lane"), integer(data, "i", 1), element_or_absent(data, "c")
        require(there == (declared["session"], lane.name, i, declared["c"]), "not the roll that was declared")
        if declared["witness"]:
            require(w != "-", "resolved without its witness")
            witness, m = declared["witness"]
            if m not in witness.stale:
                lane.witnessed[witness.name] += 1
        lane.check_dice(i, data, w)

    def roll_passed(self, record, data):
        declared = self.open_declaration(data)
        require(declared["witness"], "no witness was asked")
        witness, m = declared["witness"]
        require((string(data, "lane"), integer(data, "m", 1)) == (witness.name, m), "not the witness that was asked")
        witness.waiting.remove(m)
        self.ask_witness(declared, data.get("next"))

    def roll_voided(self, record, data):
        declared, _ = self.close_declaration(data)
        declared["lane"].s.accept(declared["i"], element(data, "s"), "s")

    def roll_sealed(self, record, data):
        lane = self.session(record).lane(data)
        require(lane.secret, f"lane {lane.name} is not for secret rolls")
        self.seals[record["n"]] = {"kind": "roll", "seal": element(data, "seal"), "lane": lane, "i": lane.take(data),
                                   "session": data["session"], "open": False, "shown": visibility(data)}

    def roll_widened(self, record, data):
        """What was shown to somebody stays shown to them."""
        sealed = self.seals.get(integer(data, "sealed", 0))
        require(sealed and sealed["kind"] == "roll" and not sealed["open"], "no secret roll has this number")
        shown = visibility(data)
        require(shown > sealed["shown"], "it shows the roll to nobody more, or to somebody less")
        sealed["shown"] = shown

    def target_sealed(self, record, data):
        self.seals[record["n"]] = {"kind": "target", "seal": element(data, "seal"), "open": False}

    def ruling_sealed(self, record, data):
        self.seals[record["n"]] = {"kind": "ruling", "seal": element(data, "seal"), "open": False}

    def unseal(self, data, kind):
        sealed = self.seals.get(integer(data, "sealed", 0))
        require(sealed and sealed["kind"] == kind, "no seal has this number")
        require(not sealed["open"], "opened twice")
        salt, payload = bytes.fromhex(element(data, "salt")), string(data, "payload")
        seal = hmac.new(salt, payload.encode("utf-8"), hashlib.sha256).hexdigest()
        require(seal == sealed["seal"], "not what was sealed")
        sealed["open"] = True
        return sealed, strict_json(payload)

    def roll_opened(self, record, data):
        sealed, payload = self.unseal(data, "roll")
        place = payload.get("session", sealed["session"]), payload.get("lane"), integer(payload, "i", 1)
        require(place == (sealed["session"], sealed["lane"].name, sealed["i"]), "not the roll that was sealed")
        sealed["lane"].check_dice(sealed["i"], payload, "-")

    def target_opened(self, record, data):
        self.unseal(data, "target")

    def ruling_opened(self, record, data):
        _, payload = self.unseal(data, "ruling")
        require(all(data.get(key) == value for key, value in payload.items()), "not the ruling that was sealed")

    CHECKS = {
        "seat.taken": seat_taken, "seating.closed": seating_closed, "seat.revealed": seat_revealed,
        "seating.sealed": seating_sealed, "roll.made": roll_made, "roll.declared": roll_declared,
        "roll.resolved": roll_resolved, "roll.passed": roll_passed, "roll.voided": roll_voided,
        "roll.sealed": roll_sealed, "roll.widened": roll_widened, "roll.opened": roll_opened,
        "target.sealed": target_sealed, "target.opened": target_opened,
        "ruling.sealed": ruling_sealed, "ruling.opened": ruling_opened,
    }


def carries_seed(value):
    if isinstance(value, dict):
        return {"lane", "i", "s"} <= value.keys() or any(map(carries_seed, value.values()))
    return isinstance(value, list) and any(map(carries_seed, value))


# ---------------------------------------------------------------- the whole export

def check_export(lines, checkpoints, table):
    """Reads every record; gives the tree, the first record, and the keys if it names one."""
    keys = None
    tree, due = Tree(), collections.defaultdict(list)
    for checkpoint in checkpoints:
        due[checkpoint.size].append(checkpoint)
    first, before = None, ""
    while True:
        line = lines.readline(MAX_RECORD + 2)
        if not line:
            break
        n = tree.size
        try:
            require(line.endswith(b"\n"), f"longer than {MAX_RECORD} bytes, or its line has no end")
            record = parse_record(line[:-1])
            require(integer(record, "n", 0) == n, f"it says it is record {record['n']}")
            require(record["at"] >= before, "time runs back")
            first, before = first or record, record["at"]
            require(record["campaign"] == first["campaign"], "it is of another campaign")
            if n == 0 and isinstance(record["data"].get("vkey"), str) and record["data"]["vkey"].count("+") >= 2:
                keys = Keys(record["campaign"], VKey(record["data"]["vkey"]))
            if record["type"] in ("key.rotated", "ledger.recovered"):
                require(keys, "the campaign began without a key")
                (keys.rotated if record["type"] == "key.rotated" else keys.recovered)(record)
                set_lost_aside(due, keys)
            tree.append(line[:-1])
            if table:
                table.event(record)
        except Bad as bad:
            raise Bad(f"record {n}: {bad}")
        except Exception as error:  # whatever the checks did not foresee is not a good record
            raise Bad(f"record {n}: malformed ({type(error).__name__})")
        for checkpoint in due.pop(tree.size, []):
            require(checkpoint.root == tree.root(), f"the first {tree.size} records are not the ones {checkpoint.name} saw")
            print(f"checkpoint {checkpoint.name}: the first {tree.size} records are the ones it saw")
    require(tree.size, "no records")
    for checkpoint in checkpoints:
        origin = re.escape("/campaign/" + first["campaign"]) + r"(/[0-9]+)?\Z"
        require(re.search(origin, checkpoint.origin), f"checkpoint {checkpoint.name} is of another campaign")
    for size in sorted(due):
        if not due[size]:
            continue
        if size == 0:
            require(all(c.root == sha256(b"") for c in due[0]), "a checkpoint of no records has a wrong root")
            continue
        raise Bad(f"the export ends after {tree.size} records, checkpoint {due[size][0].name} saw {size}")
    return tree, first, keys


def set_lost_aside(due, keys):
    """Checkpoints of a log that ended in a loss, which saw more than was left, have nothing to be held against."""
    for size in due:
        for checkpoint in list(due[size]):
            left = keys.left(checkpoint)
            if left is not None and size > left:
                due[size].remove(checkpoint)
                print(f"NOTE: checkpoint {checkpoint.name} saw {size} records of the log before the loss: "
                      f"those from {left} on are lost, and it cannot be held against the ledger")


def report(table, me):
    opened = [s for s in table.seals.values() if s["open"]]
    print(f"declared and still open: {len(table.declared)}; taken back: {table.count['roll.voided']}; "
          f"witness passed over: {table.count['roll.passed']}; "
          f"sealed and still closed: {len(table.seals) - len(opened)}; opened: {len(opened)}; "
          f"typed in from physical dice (not provable): {table.count['physical']}")
    for kind, times in sorted(table.unknown.items()):
        print(f"NOT CHECKED: {times} events {ascii(kind)} carry a seed, and this program does not know them")
    for session in table.sessions.values():
        idle = sum(1 for k, s in enumerate(session.seatings, 1) if s.sealed
                   and not any(lane.taken for lane in session.lanes.values() if lane.seating == k))
        print(f"session {ascii(session.name)[1:-1]}" + (f" ({idle} seatings sealed and never played)" if idle else ""))
        for lane in session.lanes.values():
            report_lane(lane, me)


def listed(names):
    return ", ".join(names[:-1]) + " and " + names[-1] if len(names) > 1 else names[0]


def report_lane(lane, me):
    held = list(lane.gave)
    if lane.c and lane.name not in held:
        held.append(lane.name)
    print(f"  {lane.name}: {lane.rolls} rolls checked" + (f", {lane.taken - lane.rolls} not shown" if lane.taken > lane.rolls else ""))
    print("    choose:  " + (f"only the server and {listed(held)} all together could have chosen the dice" if held
                             else "RESTS ON THE SERVER ALONE: nobody else gave a secret"))
    seen = sum(lane.witnessed.values())
    witnesses = listed([f"{times} with {name}" for name, times in sorted(lane.witnessed.items())]) if seen else "none"
    if lane.c:
        print(f"    foresee: only the server and the device of {lane.name} together; "
              f"if {lane.name} runs the server: all but the witnessed ({witnesses})")
    else:
        print(f"    foresee: THE SERVER COULD, all but the witnessed ({witnesses})")
    if me:
        mine = lane.owned_by(me)
        chosen = any(re.fullmatch(re.escape(me) + r"(\.[0-9]+)?", name) for name in held)
        told = sum(times for name, times in lane.witnessed.items() if re.fullmatch(re.escape(me) + r"(\.[0-9]+)?", name))
        print(f"    you:     {'NOT choosable' if chosen else 'choosable'} without you; "
              + ("none foreseeable without you" if mine and lane.c else f"{told} not foreseeable without you"))


def read_inputs(options):
    """Opens the export and reads checkpoints and key; OSError if one cannot be read."""
    events, marks, vkey, own_key, own_mark = options.export, list(options.checkpoint), options.vkey, False, None
    if os.path.isdir(events):
        folder, events = events, os.path.join(events, "events.jsonl")
        if os.path.exists(os.path.join(folder, "checkpoint")):
            own_mark = os.path.join(folder, "checkpoint")
            marks.append(own_mark)
        if vkey is None and os.path.exists(os.path.join(folder, "vkey")):
            vkey, own_key = os.path.join(folder, "vkey"), True
    notes = [(name, read_file(name)) for name in marks]
    key = None if vkey is None else read_file(vkey)
    return open(events, "rb"), notes, key, own_key, own_mark


def read_file(name):
    with open(name, "rb") as file:
        return file.read()


def check_key(key, first, checkpoints, keys, own_mark):
    """The signatures, and that the key is the one the campaign began with."""
    if key is None:
        print("signatures: NOT CHECKED, no verifier key was given")
        return
    vkey = VKey(key.decode("utf-8", "replace").rstrip("\r\n"))
    began = first["data"].get("vkey")
    known = [k.text for k in keys.list] if keys else [began]
    require(not isinstance(began, str) or vkey.text in known, "record 0: the campaign began with another verifier key")
    for checkpoint in checkpoints:
        try:
            if keys:
                keys.check(checkpoint, checkpoint.name == own_mark)
            else:
                checkpoint.check_signature(vkey)
        except Bad as bad:
            raise Bad(f"checkpoint {checkpoint.name}: {bad}")
        print(f"checkpoint {checkpoint.name}: signed by {ascii(checkpoint.origin)[1:-1]}")


def main():
    parser = argparse.ArgumentParser(description="Check an exported campaign, trusting nobody.")
    parser.add_argument("export", help="events.jsonl, or the folder of an export")
    parser.add_argument("--checkpoint", action="append", default=[], metavar="FILE", help="a checkpoint that somebody kept")
    parser.add_argument("--vkey", metavar="FILE", help="the log's verifier key")
    parser.add_argument("--me", metavar="HANDLE", help="say what your own secrets protected")
    parser.add_argument("--records-only", action="store_true", help="do not check dice")
    options = parser.parse_args()
    try:
        lines, notes, key, own_key, own_mark = read_inputs(options)
    except OSError as error:
        print(f"cannot read: {error}", file=sys.stderr)
        return 2
    table = None if options.records_only else Table()
    try:
        checkpoints = []
        for name, data in notes:
            try:
                checkpoints.append(Checkpoint(name, data))
            except Bad as bad:
                raise Bad(f"checkpoint {name}: {bad}")
        tree, first, keys = check_export(lines, checkpoints, table)
        for checkpoint in checkpoints:
            require(checkpoint.name != own_mark or checkpoint.size == tree.size,
                    f"record {checkpoint.size}: the checkpoint of this export ends before it, nobody has signed it")
        check_key(key, first, checkpoints, keys, own_mark)
    except Bad as bad:
        print(f"FAILED: {bad}")
        return 1
    finally:
        lines.close()
    print(f"{tree.size} records good; root {base64.b64encode(tree.root()).decode()}")
    if not checkpoints:
        print("NOTE: no checkpoint was given, so nothing here shows that this history is the one you saw")
    if own_key:
        print("NOTE: the verifier key comes from the export itself; compare it with the one you got at the table")
    if table:
        report(table, options.me)
    else:
        print("dice: NOT CHECKED, as asked")
    return 0


if __name__ == "__main__":
    sys.exit(main())
