#!/usr/bin/env python3
"""Check one roll yourself:  roll.py FILE N

FILE holds records of the ledger, one a line: the whole export, or just the lines this needs
(the roll, the seat.taken of its lane, the seating.sealed of that seat). N is the roll's number.
That nothing was left out or rewritten is what verify.py and a checkpoint you kept can tell."""
import hashlib, hmac, json, sys

if len(sys.argv) != 3:
    sys.exit(__doc__)
events = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
find = lambda kind, **want: next(e for e in events if e["type"] == kind and all(e["data"].get(k) == v for k, v in want.items()))

def hashes_to(seed, times, anchor):  # a seed, hashed as often as its number says, gives the published anchor
    seed = bytes.fromhex(seed)
    for _ in range(times):
        seed = hashlib.sha256(seed).digest()
    return seed.hex() == anchor

event = next((e for e in events if e["n"] == int(sys.argv[2])), None)
if event is None:
    sys.exit("The file has no record %s." % sys.argv[2])
if event["type"] == "roll.sealed":
    sys.exit("This roll is still secret: check the roll.opened that shows it, once there is one.")
if event["type"] == "target.opened":
    rolls = ", ".join(str(r["roll"]) for r in event["data"].get("rolls", [])) or "none"
    sys.exit("Record %s opens a target: it is a number to beat, and no roll. Rolls made against it: %s." % (sys.argv[2], rolls))
if event["type"] not in ("roll.made", "roll.resolved", "roll.opened"):
    sys.exit("Record %s is a %s and no roll: it has no dice to check." % (sys.argv[2], event["type"]))
roll = json.loads(event["data"]["payload"]) if event["type"] == "roll.opened" else event["data"]
if roll.get("source") == "physical":
    sys.exit("These dice were rolled by hand and typed in: there is nothing to check.")
session = roll.get("session") or next(e for e in events if e["n"] == event["data"]["sealed"])["data"]["session"]
seat = find("seat.taken", session=session, lane=roll["lane"])
sealed = find("seating.sealed", session=session, seating=seat["data"]["seating"])
checks = {"the seat was sealed before the roll": seat["n"] < sealed["n"] < event["n"]}

# 1. The server could not pick its seed s for this roll: it had published s0 before anybody's secret was shown.
checks["the server's seed is number %d of its chain" % roll["i"]] = hashes_to(roll["s"], roll["i"], seat["data"]["s0"])

# 2. Nor could the roller's device pick its seed c (if it has a chain), nor the witness w (if the roll was declared).
c, c0, w = roll.get("c", "-"), seat["data"].get("c0", "-"), roll.get("w", "-")
checks["the roller's seed is of its chain, or it has none"] = c == c0 == "-" or "-" not in (c, c0) and hashes_to(c, roll["i"], c0)
if w != "-":
    witness = next(e for e in events if e["n"] == roll["declared"])["data"]["witness"]
    for passed in (e for e in events if e["type"] == "roll.passed" and e["data"]["declared"] == roll["declared"]):
        witness = passed["data"]["next"]
    x0 = find("seat.taken", session=session, lane=witness["lane"])["data"]["x0"]
    checks["the witness's secret is number %d of its chain" % witness["m"]] = hashes_to(w, witness["m"], x0)

# 3. Seeds and joint seed give numbers below 2^32, eight to a block. A die is such a number modulo its sides, plus one.
def numbers():
    for block in range(2**32):
        text = "dice/v1\n%s\n%s\n%d\n%s\n%s\n%d\n" % (sealed["data"]["joint"], roll["lane"], roll["i"], c, w, block)
        mac = hmac.new(bytes.fromhex(roll["s"]), text.encode(), hashlib.sha256).hexdigest()
        yield from (int(mac[at:at + 8], 16) for at in range(0, 64, 8))

number = numbers()
for sides, face in roll["draws"]:  # numbers at the very top are left out: they would favour low faces
    drawn = 1 if sides == 1 else next(x for x in number if x < 2**32 - 2**32 % sides) % sides + 1
    checks["d%d shows %d, the seeds give %d" % (sides, face, drawn)] = face == drawn

for what, good in checks.items():
    print("good  " if good else "WRONG ", what)
sys.exit(0 if all(checks.values()) else 1)
