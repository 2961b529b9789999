// Check an exported campaign without trusting whoever ran the server.
//
//     node verify.mjs EXPORT [--checkpoint FILE]... [--vkey FILE] [--me HANDLE]
//
// EXPORT is events.jsonl, or a folder with events.jsonl, checkpoint and vkey in it. Exit code: 0 everything checked
// is good, 1 something is wrong, 2 nothing to check. In a browser: import { verify } from './verify.mjs'.
//
// It needs WebCrypto and nothing else, and was written apart from the program that it checks. It does not know the
// rules of any game: that the right dice were asked for, in the right order, is what `tallystick verify` decides.

const MAX_RECORD = 65535
const MAX_CHAIN = 65536

/** Something in the export is not as it must be. */
export class Bad extends Error {}

const expect = (condition, why) => { if (!condition) throw new Bad(why) }

// ---------------------------------------------------------------- bytes and hashes

const { subtle } = globalThis.crypto
const utf8 = new TextEncoder()
const strictUTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const hex = bytes => Array.from(bytes, b => b.toString(16).padStart(2, '0')).join('')
const unhex = text => Uint8Array.from(text.match(/../g) ?? [], pair => parseInt(pair, 16))
const sha256 = async bytes => new Uint8Array(await subtle.digest('SHA-256', bytes))
const hmac = async (key, message) => {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  return new Uint8Array(await subtle.sign('HMAC', await subtle.importKey('raw', key, algorithm, false, ['sign']), message))
}

function join(...parts) {
  const all = new Uint8Array(parts.reduce((n, p) => n + p.length, 0))
  let at = 0
  for (const part of parts) { all.set(part, at); at += part.length }
  return all
}

function decodeUTF8(bytes) {
  try { return strictUTF8.decode(bytes) } catch { throw new Bad('not UTF-8') }
}

function strictBase64(text, what) {
  let binary
  try { binary = atob(text) } catch { throw new Bad(what + ' is not base64') }
  expect(btoa(binary) === text, what + ' is not canonical base64')
  return Uint8Array.from(binary, c => c.charCodeAt(0))
}

// ---------------------------------------------------------------- records

const STRING = /"[^"\\\u0000-\u001f]*(?:\\(?:["\\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\u0000-\u001f]*)*"/y
const NUMBER = /-?[0-9][0-9.eE+-]*/y
const INTEGER = /^(?:0|-?[1-9][0-9]{0,15})$/

/** Reads JSON that every reader in the world reads alike: compact, no key twice, whole numbers only. */
function strictJSON(text) {
  let at = 0
  const take = pattern => {
    pattern.lastIndex = at
    const found = pattern.exec(text)
    expect(found, `not strict, compact JSON at character ${at}`)
    at += found[0].length
    return found[0]
  }
  const word = (w, value) => { expect(text.startsWith(w, at), `not JSON at character ${at}`); at += w.length; return value }
  const string = () => {
    const value = JSON.parse(take(STRING))
    expect(!/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.test(value), 'half of a surrogate pair')
    return value
  }
  const number = () => {
    const digits = take(NUMBER)
    expect(INTEGER.test(digits), 'a number that is not an integer: ' + digits.slice(0, 40))
    expect(Number.isSafeInteger(Number(digits)), 'an integer too large: ' + digits)
    return Number(digits)
  }
  const value = depth => {
    expect(depth < 1000, 'nested too deeply')
    switch (text[at]) {
      case '{': {
        const members = Object.create(null)
        at++
        if (text[at] === '}') { at++; return members }
        for (;;) {
          const key = string()
          expect(!(key in members), 'a key stands twice in one object')
          word(':')
          members[key] = value(depth + 1)
          if (text[at] === '}') { at++; return members }
          word(',')
        }
      }
      case '[': {
        const list = []
        at++
        if (text[at] === ']') { at++; return list }
        for (;;) {
          list.push(value(depth + 1))
          if (text[at] === ']') { at++; return list }
          word(',')
        }
      }
      case '"': return string()
      case 't': return word('true', true)
      case 'f': return word('false', false)
      case 'n': return word('null', null)
      default: return number()
    }
  }
  const result = value(0)
  expect(at === text.length, 'something behind the JSON value')
  expect(isObject(result), 'not a JSON object')
  return result
}

const isObject = value => typeof value === 'object' && value !== null && !Array.isArray(value)

function string(data, field) {
  expect(typeof data[field] === 'string' && data[field] !== '', `${field} is missing or not text`)
  return data[field]
}

function integer(data, field, low, high = Number.MAX_SAFE_INTEGER) {
  const value = data[field]
  expect(Number.isSafeInteger(value) && low <= value && value <= high, `${field} is missing or not a number in ${low}..${high}`)
  return value
}

function element(data, field) {
  expect(typeof data[field] === 'string' && /^[0-9a-f]{64}$/.test(data[field]), `${field} is missing or not 64 hex digits`)
  return data[field]
}

const elementOrAbsent = (data, field) => (data[field] ?? '-') === '-' ? '-' : element(data, field)

function list(data, field) {
  expect(Array.isArray(data[field] ?? []), `${field} is not a list`)
  return data[field] ?? []
}

function parseRecord(line) {
  expect(line.length <= MAX_RECORD, `longer than ${MAX_RECORD} bytes`)
  const record = strictJSON(decodeUTF8(line))
  for (const field of ['campaign', 'id', 'at', 'by', 'type']) string(record, field)
  integer(record, 'v', 1)
  expect(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(record.at), 'its time is not in UTC with milliseconds')
  expect(isObject(record.data), 'data is missing')
  return record
}

// ---------------------------------------------------------------- tree and checkpoints

/** The RFC 6962 tree, of which only the perfect subtrees at its edge are kept. */
class Tree {
  size = 0
  peaks = []

  async append(record) {
    let node = await sha256(join([0], record))
    for (let rest = this.size; rest % 2 === 1; rest = (rest - 1) / 2) node = await sha256(join([1], this.peaks.pop(), node))
    this.peaks.push(node)
    this.size++
  }

  async root() {
    if (this.size === 0) return sha256(new Uint8Array())
    let node = this.peaks.at(-1)
    for (const peak of this.peaks.slice(0, -1).reverse()) node = await sha256(join([1], peak, node))
    return node
  }
}

/** A verifier key: <origin>+<key id>+<base64 of the algorithm byte 1 and the key>. */
async function readVKey(text) {
  const parts = /^([^+\s]+)\+([0-9a-f]{8})\+(.+)$/.exec(text)
  expect(parts, 'the verifier key has not three parts')
  const [, origin, id, encoded] = parts
  const data = strictBase64(encoded, 'the verifier key')
  expect(data.length === 33 && data[0] === 1, 'the verifier key is not an Ed25519 key')
  expect(hex((await sha256(join(utf8.encode(origin + '\n'), data))).slice(0, 4)) === id, 'the verifier key has a wrong id')
  return { text, origin, id, key: data.slice(1) }
}

/** A signed tree head: origin, size and root, then a blank line and signatures. */
function readCheckpoint(name, note) {
  const cut = note.indexOf('\n\n')
  const lines = note.slice(0, Math.max(cut, 0)).split('\n')
  expect(cut > 0 && lines.length === 3, 'not three lines before the signatures')
  expect(/^(?:0|[1-9][0-9]{0,15})$/.test(lines[1]), 'its size is not a number')
  const root = strictBase64(lines[2], 'its root')
  expect(root.length === 32, 'its root is not 32 bytes')
  expect(note.endsWith('\n'), 'its last line has no end')
  const signatures = readSignatures(note.slice(cut + 2, -1))
  return { name, text: note.slice(0, cut + 1), origin: lines[0], size: Number(lines[1]), root, signatures }
}

const readSignatures = block => block.split('\n').map(line => {
  const parts = /^\u2014 (\S+) (\S+)$/.exec(line)
  expect(parts, 'a line after the text is not a signature')
  const signature = strictBase64(parts[2], 'a signature')
  expect(signature.length > 4, 'a line after the text is not a signature')
  return { name: parts[1], id: hex(signature.slice(0, 4)), signature: signature.slice(4) }
})

/** Checks a note's signature; false where WebCrypto has no Ed25519. */
async function checkNote(text, signatures, vkey) {
  const mine = signatures.filter(s => s.name === vkey.origin && s.id === vkey.id)
  expect(mine.length > 0, 'the log did not sign it')
  const key = await importKey(vkey)
  if (key === null) return false
  for (const { signature } of mine) {
    const good = signature.length === 64 && await subtle.verify('Ed25519', key, signature, utf8.encode(text))
    expect(good, 'its signature is wrong')
  }
  return true
}

/** The keys that sign a campaign's checkpoints, each from a record on; every one has led to the next. */
class Keys {
  ends = []

  constructor(campaign, vkey, note) {
    Object.assign(this, { campaign, list: [vkey], note })
    this.log(vkey.origin)
  }

  log(origin) {
    const at = origin.lastIndexOf('/campaign/'), name = origin.slice(at + 10)
    const [campaign, number = '1', ...more] = name.split('/')
    const numbered = name.includes('/') ? /^[1-9][0-9]{0,8}$/.test(number) && number !== '1' : true
    expect(at > 0 && campaign === this.campaign && numbered && more.length === 0, 'the log is not of this campaign')
    return { server: origin.slice(0, at), number: Number(number) }
  }

  newest() { return this.list.at(-1) }

  async rotated({ n, data }) {
    const old = this.newest(), renewed = await readVKey(string(data, 'new'))
    expect(string(data, 'old') === old.text, 'the old key is not the one that signs the checkpoints')
    expect(renewed.origin === old.origin && renewed.text !== old.text, 'the new key is no other key of this log')
    const endorsed = string(data, 'endorsed'), cut = endorsed.indexOf('\n\n')
    expect(endorsed.slice(0, cut) === `${old.origin}\nkey.rotated\n${renewed.text}` && endorsed.endsWith('\n'), 'the old key does not name the new one')
    const signatures = readSignatures(endorsed.slice(cut + 2, -1))
    expect(signatures.length === 1, 'another than the old key has signed for the new one')
    const checked = await checkNote(endorsed.slice(0, cut + 1), signatures, old)
    this.list.push(renewed)
    this.note(`NOTE: the server signs with a new key from record ${n} on; ` +
      (checked ? 'the key before has signed for it' : 'this browser cannot check that the key before has signed for it'))
  }

  async recovered({ n, data }) {
    const old = this.newest(), begun = await readVKey(string(data, 'vkey')), lost = readCheckpoint('that was lost', string(data, 'lost'))
    expect(integer(data, 'size', 0) === n, 'it says that other records were left')
    expect(hex(begun.key) === hex(old.key), 'the new log has another key than the one before')
    const [now, before, was] = [begun, old, lost].map(({ origin }) => this.log(origin))
    expect(now.server === before.server && now.server === was.server, 'it is of another server')
    expect(now.number > Math.max(before.number, was.number), 'this log was begun before')
    expect(lost.size > n, 'nothing is lost')
    this.list.push(begun)
    this.ends.push({ number: now.number, left: n })
    this.note(`NOTE: the ledger was begun anew at record ${n} after a loss: the last checkpoint before covered ${lost.size} records, and those from ${n} on are lost`)
  }

  /** How many records were left of a checkpoint's log, where it has ended in a loss. */
  left(checkpoint) {
    const { number } = this.log(checkpoint.origin)
    return this.ends.find(end => end.number > number)?.left
  }

  /** The signature of one of the keys; of the newest under an export of its own. False where it cannot be checked. */
  async check(checkpoint) {
    expect(this.log(checkpoint.origin).number <= this.log(this.newest().origin).number, 'the ledger does not know its log')
    let keys = [this.newest()]
    if (!checkpoint.own) {
      keys = await Promise.all(this.list.map(async ({ key }) => ({
        origin: checkpoint.origin, key, id: hex((await sha256(join(utf8.encode(checkpoint.origin + '\n'), [1], key))).slice(0, 4))
      })))
    }
    const mine = keys.filter(key => checkpoint.signatures.some(s => s.name === key.origin && s.id === key.id))
    let checked = true
    for (const key of mine.length ? mine : keys.slice(-1)) {
      expect(checkpoint.origin === key.origin, 'it is of another log than the verifier key')
      checked = await checkNote(checkpoint.text, checkpoint.signatures, key) && checked
    }
    return checked
  }
}

// ---------------------------------------------------------------- dice

/** Takes dice from the stream of one roll. */
function stream(seed, joint, lane, i, c, w) {
  let block, used = 8, next = 0
  const word = async () => {
    if (used === 8) {
      const message = `dice/v1\n${joint}\n${lane}\n${i}\n${c}\n${w}\n${next++}\n`
      block = new DataView((await hmac(unhex(seed), utf8.encode(message))).buffer)
      used = 0
    }
    return block.getUint32(4 * used++)
  }
  return async sides => {
    if (sides === 1) return 1 // nothing to draw
    const limit = 2 ** 32 - 2 ** 32 % sides
    let x
    do x = await word(); while (x >= limit)
    return x % sides + 1
  }
}

function draws(data) {
  expect(Array.isArray(data.draws), 'draws is missing')
  for (const die of data.draws) {
    expect(Array.isArray(die) && die.length === 2 && die.every(Number.isSafeInteger), 'a draw is not a pair')
    expect(1 <= die[1] && die[1] <= die[0] && die[0] < 2 ** 32, 'a die shows a face it has not')
  }
  return data.draws
}

/** Who may see a secret roll before it is opened, as a set that grows: nobody, who rolled, and the handles named. */
function visibility(data) {
  const shown = data.visibility ?? 'private'
  if (Array.isArray(shown)) {
    expect(shown.length > 0 && shown.every(handle => typeof handle === 'string' && handle !== ''), 'visibility names nobody')
    return new Set(['who rolled', ...shown])
  }
  expect(shown === 'private' || shown === 'blind', 'visibility is neither private, blind nor a list')
  return new Set(shown === 'private' ? ['who rolled'] : [])
}

/** A hash chain: SHA-256 of an element is the element before it; element 0 was published. */
class Chain {
  index = 0

  constructor(anchor) { this.value = anchor }

  async accept(index, text, what) {
    let [higher, lower] = index >= this.index ? [text, this.value] : [this.value, text]
    for (let k = Math.abs(index - this.index); k > 0; k--) higher = hex(await sha256(unhex(higher)))
    expect(higher === lower, `${what} is not element ${index} of the committed chain`)
    if (index > this.index) { this.index = index; this.value = text }
  }
}

const chainOf = anchor => anchor === '-' ? null : new Chain(anchor)

/** One stream of rolls of one principal in one session. */
class Lane {
  joint = null
  gave = [] // lanes whose secrets are in the joint seed
  taken = 0 // index of the last roll
  declared = false // that roll is declared and waits
  rolls = 0 // whose dice were computed
  witnessed = new Map()
  asked = 0 // highest element of x that was asked for
  waiting = null // the one that was not answered yet

  constructor(data) {
    this.name = string(data, 'lane')
    expect(/^[a-z0-9][a-z0-9.-]{0,62}$/.test(this.name), 'lane is not a lane name')
    this.principal = typeof data.principal === 'string' ? data.principal : this.name.replace(/\.[0-9]+$/, '')
    this.seating = integer(data, 'seating', 1)
    this.n = integer(data, 'n', 1, MAX_CHAIN)
    this.secret = data.secret === true || this.principal === 'gm-secret' // for secret rolls alone
    this.anchors = [element(data, 's0'), elementOrAbsent(data, 'c0'), elementOrAbsent(data, 'x0')]
    ;[this.s, this.c, this.x] = this.anchors.map(chainOf)
  }

  /** The next roll of the lane: no index is left out or used twice. */
  take(data) {
    const i = integer(data, 'i', 1)
    expect(this.joint, `lane ${this.name} rolls before its seating was sealed`)
    expect(!this.declared, `lane ${this.name} has a declared roll that is not resolved`)
    expect(i === this.taken + 1, `index ${i} of lane ${this.name}, ${this.taken + 1} was due`)
    expect(i <= this.n, `the chain of lane ${this.name} ends at ${this.n}`)
    this.taken = i
    return i
  }

  async checkC(i, data) {
    const c = elementOrAbsent(data, 'c')
    expect((c === '-') === (this.c === null), `c of lane ${this.name} does not go with its seat`)
    if (this.c) await this.c.accept(i, c, 'c')
    return c
  }

  async checkDice(i, data, w) {
    const seed = element(data, 's'), dice = draws(data)
    await this.s.accept(i, seed, 's')
    const die = stream(seed, this.joint, this.name, i, await this.checkC(i, data), w)
    for (const [at, [sides, shown]] of dice.entries()) {
      const drawn = await die(sides)
      expect(drawn === shown, `die ${at + 1} (d${sides}) shows ${shown}, the seeds give ${drawn}`)
    }
    this.rolls++
  }

  ask(m) {
    expect(this.x, `lane ${this.name} has no witness chain`)
    expect(this.waiting === null, `lane ${this.name} is asked again before it has answered`)
    expect(m === this.asked + 1, `lane ${this.name} is asked for element ${m}, ${this.asked + 1} was due`)
    this.asked = this.waiting = m
  }

  async reveal(m, x) {
    expect(m === this.waiting, `element ${m} of lane ${this.name} was not due`)
    await this.x.accept(m, x, 'the witness element')
    this.waiting = null
  }
}

/** The lanes and seatings of one evening of play. */
class Session {
  lanes = new Map()
  seatings = []
  joint = '-'

  constructor(campaign, name) { this.campaign = campaign; this.name = name }

  lane(data) {
    const lane = this.lanes.get(string(data, 'lane'))
    expect(lane, `nobody took the seat of lane ${data.lane}`)
    return lane
  }

  seating(data) {
    const seating = this.seatings[integer(data, 'seating', 1) - 1]
    expect(seating, `nobody took a seat in seating ${data.seating}`)
    return seating
  }

  takeSeat(data) {
    const lane = new Lane(data)
    expect(lane.seating <= this.seatings.length + 1, 'a seating was left out')
    expect(!this.lanes.has(lane.name), 'this seat was taken before')
    const seating = this.seatings[lane.seating - 1] ??= { rows: new Map(), ask: new Map(), closed: false, sealed: false }
    expect(!seating.closed, 'the seating was closed before')
    seating.rows.set(lane.name, '-')
    this.lanes.set(lane.name, lane)
  }

  closeSeating(data) {
    const seating = this.seating(data)
    expect(!seating.closed, 'the seating was closed before')
    for (const asked of list(data, 'ask')) {
      expect(isObject(asked), 'ask does not name a lane')
      const lane = this.lane(asked), m = integer(asked, 'm', 1)
      expect(seating.rows.has(lane.name) || lane.joint, `lane ${lane.name} has no sealed seat to witness from`)
      lane.ask(m)
      seating.ask.set(lane.name, m)
    }
    for (const name of seating.rows.keys()) {
      expect(!this.lanes.get(name).x || seating.ask.has(name), `lane ${name} has a secret to give and is not asked`)
    }
    for (const name of seating.ask.keys()) if (!seating.rows.has(name)) seating.rows.set(name, '-')
    seating.closed = true
  }

  async reveal(data) {
    const seating = this.seating(data), lane = this.lane(data), m = integer(data, 'm', 1)
    expect(seating.closed && !seating.sealed, 'revealed before the seating was closed, or after it was sealed')
    expect(seating.ask.get(lane.name) === m, `lane ${lane.name} was not asked for element ${m}`)
    await lane.reveal(m, element(data, 'x'))
    seating.rows.set(lane.name, data.x)
  }

  async sealSeating(data) {
    const seating = this.seating(data)
    expect(seating.closed && !seating.sealed, 'sealed before it was closed, or twice')
    const names = [...seating.rows.keys()].sort()
    let text = `dice-joint/v1\n${this.campaign}\n${this.name}\n${data.seating}\n${this.joint}\n`
    for (const name of names) {
      const lane = this.lanes.get(name)
      text += [name, lane.n, ...lane.anchors, seating.rows.get(name)].join(' ') + '\n'
    }
    expect(hex(await sha256(utf8.encode(text))) === element(data, 'joint'), 'the joint seed does not follow from the seats')
    const missing = [...seating.ask.keys()].filter(name => seating.rows.get(name) === '-').sort()
    expect([...list(data, 'missing')].sort().join() === missing.join(), 'who did not reveal is not what it says')
    for (const name of missing) this.lanes.get(name).waiting = null
    seating.sealed = true
    this.joint = data.joint
    const gave = names.filter(name => seating.rows.get(name) !== '-')
    for (const name of names) {
      const lane = this.lanes.get(name)
      if (!lane.joint) { lane.joint = this.joint; lane.gave = gave }
    }
  }
}

/** All sessions of a campaign; every event that has to do with dice is checked here. */
class Table {
  sessions = new Map()
  declared = new Map()
  seals = new Map()
  count = { voided: 0, passed: 0, physical: 0 }
  unknown = new Map()

  session(record) {
    const name = string(record.data, 'session')
    if (!this.sessions.has(name)) this.sessions.set(name, new Session(record.campaign, name))
    return this.sessions.get(name)
  }

  async event(record) {
    const { type, data } = record
    switch (type) {
      case 'seat.taken': return this.session(record).takeSeat(data)
      case 'seating.closed': return this.session(record).closeSeating(data)
      case 'seat.revealed': return this.session(record).reveal(data)
      case 'seating.sealed': return this.session(record).sealSeating(data)
      case 'roll.made': return this.rollMade(record, data)
      case 'roll.declared': return this.rollDeclared(record, data)
      case 'roll.resolved': return this.rollResolved(record, data)
      case 'roll.passed': return this.rollPassed(data)
      case 'roll.voided': return this.rollVoided(data)
      case 'roll.sealed': return this.rollSealed(record, data)
      case 'roll.widened': return this.rollWidened(data)
      case 'roll.opened': return this.rollOpened(data)
      case 'target.sealed': return this.seal(record, { kind: 'target' })
      case 'target.opened': await this.unseal(data, 'target'); return
      case 'ruling.sealed': return this.seal(record, { kind: 'ruling' })
      case 'ruling.opened': return this.rulingOpened(data)
    }
    if (carriesSeed(data)) this.unknown.set(type, (this.unknown.get(type) ?? 0) + 1)
  }

  checkCall(data) {
    if ('call' in data) expect(this.seals.get(integer(data, 'call', 0))?.kind === 'target', 'the target was not sealed before the roll')
  }

  async rollMade(record, data) {
    if (data.source === 'physical') {
      expect(!('s' in data) && !('i' in data), 'a physical roll has no seed')
      draws(data)
      this.count.physical++
      return
    }
    this.checkCall(data)
    const lane = this.session(record).lane(data)
    expect(!lane.secret, `lane ${lane.name} is for secret rolls`)
    expect(elementOrAbsent(data, 'w') === '-', 'a witness element in a roll that was not declared')
    await lane.checkDice(lane.take(data), data, '-')
  }

  async rollDeclared(record, data) {
    const session = this.session(record), lane = session.lane(data), i = lane.take(data)
    const declared = { session, lane, i, c: await lane.checkC(i, data), asked: new Set() }
    this.askWitness(declared, data.witness)
    lane.declared = true
    this.declared.set(record.n, declared)
  }

  askWitness(declared, asked) {
    expect(isObject(asked), 'the witness is not named')
    const witness = declared.session.lane(asked), m = integer(asked, 'm', 1)
    expect(witness.principal !== declared.lane.principal, 'the roller is its own witness')
    expect(!declared.asked.has(witness.name), 'the same witness is asked twice')
    expect(witness.joint, `the seating of witness ${witness.name} is not sealed`)
    witness.ask(m)
    declared.asked.add(witness.name)
    Object.assign(declared, { witness, m })
  }

  open(data) {
    const declared = this.declared.get(integer(data, 'declared', 0))
    expect(declared, 'no open declaration has this number')
    return declared
  }

  /** Takes a declaration off the list, and the witness's answer with it. */
  async close(data) {
    const declared = this.open(data), w = elementOrAbsent(data, 'w')
    if (w === '-') declared.witness.waiting = null
    else await declared.witness.reveal(declared.m, w)
    this.declared.delete(data.declared)
    declared.lane.declared = false
    return [declared, w]
  }

  async rollResolved(record, data) {
    this.checkCall(data)
    const [{ session, lane, i, c, witness }, w] = await this.close(data)
    const same = this.session(record) === session && data.lane === lane.name && data.i === i && elementOrAbsent(data, 'c') === c
    expect(same, 'not the roll that was declared')
    expect(w !== '-', 'resolved without its witness')
    lane.witnessed.set(witness.name, (lane.witnessed.get(witness.name) ?? 0) + 1)
    await lane.checkDice(i, data, w)
  }

  rollPassed(data) {
    const declared = this.open(data)
    expect(data.lane === declared.witness.name && data.m === declared.m, 'not the witness that was asked')
    declared.witness.waiting = null
    this.count.passed++
    this.askWitness(declared, data.next)
  }

  async rollVoided(data) {
    const [{ lane, i }] = await this.close(data)
    this.count.voided++
    await lane.s.accept(i, element(data, 's'), 's')
  }

  rollSealed(record, data) {
    const lane = this.session(record).lane(data)
    expect(lane.secret, `lane ${lane.name} is not for secret rolls`)
    this.seal(record, { kind: 'roll', session: data.session, lane, i: lane.take(data), shown: visibility(data) })
  }

  /** What was shown to somebody stays shown to them. */
  rollWidened(data) {
    const sealed = this.seals.get(integer(data, 'sealed', 0))
    expect(sealed?.kind === 'roll' && !sealed.open, 'no secret roll has this number')
    const shown = visibility(data)
    const grows = shown.size > sealed.shown.size && [...sealed.shown].every(who => shown.has(who))
    expect(grows, 'it shows the roll to nobody more, or to somebody less')
    sealed.shown = shown
  }

  seal(record, what) { this.seals.set(record.n, { ...what, seal: element(record.data, 'seal'), open: false }) }

  async unseal(data, kind) {
    const sealed = this.seals.get(integer(data, 'sealed', 0))
    expect(sealed?.kind === kind, 'no seal has this number')
    expect(!sealed.open, 'opened twice')
    const payload = string(data, 'payload')
    expect(hex(await hmac(unhex(element(data, 'salt')), utf8.encode(payload))) === sealed.seal, 'not what was sealed')
    sealed.open = true
    return [sealed, strictJSON(payload)]
  }

  async rulingOpened(data) {
    const [, payload] = await this.unseal(data, 'ruling')
    expect(Object.entries(payload).every(([key, value]) => data[key] === value), 'not the ruling that was sealed')
  }

  async rollOpened(data) {
    const [sealed, payload] = await this.unseal(data, 'roll')
    const same = payload.session === sealed.session && payload.lane === sealed.lane.name && payload.i === sealed.i
    expect(same, 'not the roll that was sealed')
    await sealed.lane.checkDice(sealed.i, payload, '-')
  }
}

function carriesSeed(value) {
  if (Array.isArray(value)) return value.some(carriesSeed)
  if (!isObject(value)) return false
  return ['lane', 'i', 's'].every(key => key in value) || Object.values(value).some(carriesSeed)
}

// ---------------------------------------------------------------- the whole export

/** The lines of a file, each without its LF. */
function * linesOf(bytes) {
  for (let at = 0, n = 0; at < bytes.length; n++) {
    const end = bytes.indexOf(10, at)
    expect(end >= 0, `record ${n}: its line has no end`)
    yield bytes.subarray(at, end)
    at = end + 1
  }
}

async function readRecords(bytes, checkpoints, note) {
  const tree = new Tree(), table = new Table()
  let first = null, before = '', keys = null
  for (const line of linesOf(bytes)) {
    const n = tree.size
    try {
      const record = parseRecord(line)
      expect(integer(record, 'n', 0) === n, `it says it is record ${record.n}`)
      expect(record.at >= before, 'time runs back')
      first ??= record
      before = record.at
      expect(record.campaign === first.campaign, 'it is of another campaign')
      if (n === 0 && typeof record.data.vkey === 'string' && record.data.vkey.split('+').length >= 3) {
        keys = new Keys(record.campaign, await readVKey(record.data.vkey), note)
      }
      if (record.type === 'key.rotated' || record.type === 'ledger.recovered') {
        expect(keys, 'the campaign began without a key')
        await (record.type === 'key.rotated' ? keys.rotated(record) : keys.recovered(record))
        setLostAside(checkpoints, keys, note)
      }
      await tree.append(line)
      await table.event(record)
    } catch (error) { // whatever the checks did not foresee is not a good record either
      throw new Bad(`record ${n}: ${error instanceof Bad ? error.message : 'malformed (' + error.name + ')'}`)
    }
    for (const checkpoint of checkpoints.filter(c => c.size === tree.size && !c.lost)) {
      expect(hex(checkpoint.root) === hex(await tree.root()), `the first ${tree.size} records are not the ones ${checkpoint.name} saw`)
      note(`checkpoint ${checkpoint.name}: the first ${tree.size} records are the ones it saw`)
    }
  }
  expect(first, 'no records')
  return { tree, table, first, keys }
}

/** Checkpoints of a log that ended in a loss, which saw more than was left, have nothing to be held against. */
function setLostAside(checkpoints, keys, note) {
  for (const c of checkpoints) {
    const left = keys.left(c)
    if (c.lost || left === undefined || c.size <= left) continue
    c.lost = true
    note(`NOTE: checkpoint ${c.name} saw ${c.size} records of the log before the loss: those from ${left} on are lost, and it cannot be held against the ledger`)
  }
}

function checkHeads(checkpoints, { tree, first }) {
  for (const c of checkpoints) {
    const [, log] = c.origin.split('/campaign/' + first.campaign)
    expect(log !== undefined && /^(?:\/[0-9]+)?$/.test(log), `checkpoint ${c.name} is of another campaign`)
  }
  for (const c of [...checkpoints].sort((a, b) => a.size - b.size)) {
    if (c.lost) continue
    expect(c.size <= tree.size, `the export ends after ${tree.size} records, checkpoint ${c.name} saw ${c.size}`)
    expect(!c.own || c.size === tree.size, `record ${c.size}: the checkpoint of this export ends before it, nobody has signed it`)
  }
}

/** Imports the key; null where WebCrypto has no Ed25519, as in some browsers. */
async function importKey(vkey) {
  try {
    return await subtle.importKey('raw', vkey.key, 'Ed25519', false, ['verify'])
  } catch (error) {
    if (error.name === 'NotSupportedError') return null
    throw new Bad('the verifier key is not an Ed25519 key')
  }
}

async function checkKey(text, { first, keys }, checkpoints, note) {
  if (text === undefined) return note('signatures: NOT CHECKED, no verifier key was given')
  const vkey = await readVKey(text.replace(/[\r\n]+$/, ''))
  const known = keys ? keys.list.map(k => k.text) : [first.data.vkey]
  expect(typeof first.data.vkey !== 'string' || known.includes(vkey.text), 'record 0: the campaign began with another verifier key')
  if (await importKey(vkey) === null) return note('signatures: NOT CHECKED, this browser does not know Ed25519')
  for (const checkpoint of checkpoints) {
    try {
      if (!keys) expect(checkpoint.origin === vkey.origin, 'it is of another log than the verifier key')
      await (keys ? keys.check(checkpoint) : checkNote(checkpoint.text, checkpoint.signatures, vkey))
    } catch (error) {
      throw new Bad(`checkpoint ${checkpoint.name}: ${error.message}`)
    }
    note(`checkpoint ${checkpoint.name}: signed by ${checkpoint.origin}`)
  }
}

/**
 * Checks an export.
 *
 * text: events.jsonl as a string or as bytes.
 * checkpoints: [{ name, text, own }], signed notes; own marks the one that came with the export.
 * vkey: the log's verifier key as text. me: a handle, to be told what one's own secrets have protected.
 *
 * Gives { records, root, notes, lanes } or throws a Bad that says what is wrong, the first bad record first.
 */
export async function verify(text, { checkpoints = [], vkey, me } = {}) {
  const notes = [], note = line => { notes.push(line) }
  const heads = checkpoints.map(({ name, text: signed, own = false }) => {
    try {
      return { ...readCheckpoint(name, signed), own }
    } catch (error) {
      throw new Bad(`checkpoint ${name}: ${error.message}`)
    }
  })
  const read = await readRecords(typeof text === 'string' ? utf8.encode(text) : text, heads, note)
  checkHeads(heads, read)
  await checkKey(vkey, read, heads, note)
  const root = btoa(String.fromCharCode(...await read.tree.root()))
  note(`${read.tree.size} records good; root ${root}`)
  if (heads.length === 0) note('NOTE: no checkpoint was given, so nothing here shows that this history is the one you saw')
  return { records: read.tree.size, root, notes: [...notes, ...report(read.table, me)], lanes: lanesOf(read.table) }
}

const lanesOf = table => [...table.sessions.values()].flatMap(session => [...session.lanes.values()].map(lane => ({
  session: session.name, lane: lane.name, principal: lane.principal, rolls: lane.rolls, hidden: lane.taken - lane.rolls,
  choose: holders(lane), device: lane.c !== null, witnessed: Object.fromEntries(lane.witnessed)
})))

/** Lanes without whose secrets the server could not have chosen the dice of a lane. */
const holders = lane => lane.c && !lane.gave.includes(lane.name) ? [...lane.gave, lane.name] : lane.gave

const listed = names => names.length > 1 ? names.slice(0, -1).join(', ') + ' and ' + names.at(-1) : names[0]

function report(table, me) {
  const seals = [...table.seals.values()], opened = seals.filter(s => s.open).length
  const lines = [`declared and still open: ${table.declared.size}; taken back: ${table.count.voided}; ` +
    `witness passed over: ${table.count.passed}; sealed and still closed: ${seals.length - opened}; opened: ${opened}; ` +
    `typed in from physical dice (not provable): ${table.count.physical}`]
  for (const [type, times] of [...table.unknown].sort()) {
    lines.push(`NOT CHECKED: ${times} events ${JSON.stringify(type)} carry a seed, and this program does not know them`)
  }
  for (const session of table.sessions.values()) {
    const idle = session.seatings.filter((seating, k) => seating.sealed &&
      ![...session.lanes.values()].some(lane => lane.seating === k + 1 && lane.taken > 0)).length
    lines.push('session ' + session.name + (idle ? ` (${idle} seatings sealed and never played)` : ''))
    for (const lane of session.lanes.values()) lines.push(...reportLane(session, lane, me))
  }
  return lines
}

function reportLane(session, lane, me) {
  const held = holders(lane), hidden = lane.taken - lane.rolls
  const witnesses = lane.witnessed.size === 0 ? 'none' : listed([...lane.witnessed].sort().map(([name, times]) => `${times} with ${name}`))
  const lines = [
    `  ${lane.name}: ${lane.rolls} rolls checked` + (hidden ? `, ${hidden} not shown` : ''),
    '    choose:  ' + (held.length ? `only the server and ${listed(held)} all together could have chosen the dice`
      : 'RESTS ON THE SERVER ALONE: nobody else gave a secret'),
    '    foresee: ' + (lane.c ? `only the server and the device of ${lane.name} together; if ${lane.name} runs the server: all but the witnessed (${witnesses})`
      : `THE SERVER COULD, all but the witnessed (${witnesses})`)
  ]
  if (me) {
    const mine = name => session.lanes.get(name).principal === me
    const told = [...lane.witnessed].reduce((sum, [name, times]) => sum + (mine(name) ? times : 0), 0)
    lines.push(`    you:     ${held.some(mine) ? 'NOT choosable' : 'choosable'} without you; ` +
      (lane.principal === me && lane.c ? 'none foreseeable without you' : `${told} not foreseeable without you`))
  }
  return lines
}

// ---------------------------------------------------------------- command line

class Usage extends Error {}

function readArguments(args) {
  const options = { checkpoints: [] }
  for (let k = 0; k < args.length; k++) {
    const value = () => { if (++k === args.length) throw new Usage(args[k - 1] + ' needs a value'); return args[k] }
    if (args[k] === '--checkpoint') options.checkpoints.push(value())
    else if (args[k] === '--vkey') options.vkey = value()
    else if (args[k] === '--me') options.me = value()
    else if (args[k].startsWith('-') || options.source) throw new Usage('usage: verify.mjs EXPORT [--checkpoint FILE]... [--vkey FILE] [--me HANDLE]')
    else options.source = args[k]
  }
  if (!options.source) throw new Usage('usage: verify.mjs EXPORT [--checkpoint FILE]... [--vkey FILE] [--me HANDLE]')
  return options
}

async function readFiles({ source, checkpoints, vkey, me }) {
  const { readFile, stat } = await import('node:fs/promises')
  const { join: path } = await import('node:path')
  const exists = name => stat(name).then(() => true, () => false)
  const notes = []
  let ownKey = false
  if ((await stat(source)).isDirectory()) {
    const folder = source
    source = path(folder, 'events.jsonl')
    if (await exists(path(folder, 'checkpoint'))) notes.push({ name: path(folder, 'checkpoint'), own: true })
    if (vkey === undefined && await exists(path(folder, 'vkey'))) { vkey = path(folder, 'vkey'); ownKey = true }
  }
  for (const name of checkpoints) notes.push({ name })
  for (const n of notes) n.bytes = await readFile(n.name)
  return { text: await readFile(source), notes, vkey: vkey && await readFile(vkey, 'utf8'), me, ownKey }
}

/** Runs the check as on the command line; gives the exit code. */
export async function main(args, print = console.log) {
  let files
  try {
    files = await readFiles(readArguments(args))
  } catch (error) {
    if (!(error instanceof Usage) && !error.code) throw error
    print('cannot check: ' + error.message)
    return 2
  }
  try {
    const checkpoints = files.notes.map(({ name, own, bytes }) => {
      try {
        return { name, own, text: decodeUTF8(bytes) }
      } catch (error) {
        throw new Bad(`checkpoint ${name}: ${error.message}`)
      }
    })
    const { notes } = await verify(files.text, { checkpoints, vkey: files.vkey, me: files.me })
    for (const line of notes) print(line)
  } catch (error) {
    if (!(error instanceof Bad)) throw error
    print('FAILED: ' + error.message)
    return 1
  }
  if (files.ownKey) print('NOTE: the verifier key comes from the export itself; compare it with the one you got at the table')
  return 0
}

if (globalThis.process?.argv?.[1]) {
  const { pathToFileURL } = await import('node:url')
  if (import.meta.url === pathToFileURL(process.argv[1]).href) process.exitCode = await main(process.argv.slice(2))
}
