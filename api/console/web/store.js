// One campaign as this page knows it: loaded once, then kept up by the live feed. Events carry their outcome, so nothing
// here knows a rule.
import { everyPage, follow, give, Problem, systemOf, unanswered, within } from './api.js'
import { inCampaign, signIn } from './auth.js'
import * as chains from './chains.js'
import { watch } from './proof.js'
import { uuid } from './subtle.js'
import { useLayoutEffect, useState } from './html.js'
import { circle, tell } from './words.js'

const BACKLOG = 60 // records shown at once when the page opens
const PAGE = 200
const SEATS = new Set(['seat.taken', 'seating.closed', 'seat.revealed', 'seating.sealed', 'session.opened', 'session.closed'])
const TABLE = new Set([...SEATS, 'participant.joined', 'participant.left', 'setting.defined', 'clock.advancing', 'clock.advanced', 'tempo.set', 'tempo.paused', 'tempo.resumed', 'tempo.held'])
const DUTIES = 'seating.closed,seat.revealed,seating.sealed,roll.declared,roll.passed,roll.resolved,roll.voided'

export class Store {
  /** @type {'loading'|'live'|'lost'|'refused'} */ connection = 'loading'
  /** @type {Error|null} */ problem = null
  campaign = null
  system = null
  session = null // the open one, with its lanes
  /** @type {Map<string, object>} */ characters = new Map()
  /** @type {Map<number, object>} */ log = new Map()
  next = 0 // n of the record that comes next
  live = 0 // n from which on records came while the page was open
  since = 0 // n from which on records came live: what lies before it happened before one looked, or while the connection was lost
  rolled = 0 // counts the rolls that came since
  clock = 0
  seating = null // { seating, ask, revealed } while one is closed and not sealed
  /** What is sealed and may be seen all the same, by n of its record. @type {Map<number, object>} */ secrets = new Map()
  declared = null // { n, lane, witness, purpose } while one waits
  device = null // this device's chains in the open session
  alarm = null
  kept = null
  news = '' // for the screen reader
  notice = '' // what the device has to say
  waiting = [] // commands of before the page was loaded

  constructor(id) {
    this.id = id
    this.handle = inCampaign(id)?.handle // whose store this is
    this.api = within(id)
    this.listeners = new Set()
    this.asked = new Set() // pages of the log that are on their way
    this.timers = {} // of what is done soon
    this.doing = new Set() // what is being done
  }

  get me() { return inCampaign(this.id) }
  get gm() { return this.me?.role === 'gm' }
  name = id => this.characters.get(id)?.name ?? 'somebody'
  /** What a record says to whoever looks. */
  tell = rec => tell(rec, this.name, this)
  circle = (visibility, by) => circle(visibility, by, this.campaign.participants, this.handle)
  command = type => this.system?.commands.find(c => c.type === type)

  /** Whether one may give a type of command. */
  may = type => {
    const c = this.command(type), role = this.me?.role
    return Boolean(c && role && (role === 'gm' || (c.who !== 'gm' && (role !== 'spectator' || c.who === 'table'))))
  }

  /** Characters one may act with. */
  get mine() { return [...this.characters.values()].filter(c => !c.retired && (this.gm || c.owner === this.me?.handle)) }

  changed = () => {
    if (this.pending) return
    this.pending = true
    setTimeout(() => { this.pending = false; for (const f of this.listeners) f() }, 30)
  }

  async start() {
    try {
      await this.load()
    } catch (error) {
      const refused = error instanceof Problem && [401, 403, 404].includes(error.status)
      this.problem = error
      this.connection = refused ? 'refused' : 'lost'
      this.changed()
      if (!refused && !this.ended) this.later('start', () => this.start(), 2000)
      return
    }
    if (this.ended || !this.me) return // signed out meanwhile, perhaps in another tab
    this.next = Math.max(0, this.campaign.as_of + 1 - BACKLOG)
    this.live = this.since = this.campaign.as_of + 1
    this.listen()
    this.waiting = unanswered(this.id, this.me.handle)
    for (const { command, key } of this.waiting) this.again(command, key)
    this.seen().catch(() => {}) // looked at again with the next record
    this.changed()
  }

  /** Follows the live feed from the record that comes next. */
  listen() {
    let lost = false
    this.stop = follow(this.id, {
      next: () => this.next,
      record: rec => this.receive(rec),
      secret: ({ n, content }) => { this.secrets.set(n, content); this.changed() },
      backlogEnd: () => {
        if (lost) {
          this.since = this.next
          this.later('refresh', () => this.refresh(), 0) // what was asked for meanwhile may have failed
        }
        lost = false
        this.connection = 'live'
        this.problem = null
        this.changed()
      },
      state: (state, problem) => {
        lost ||= state === 'lost'
        this.connection = state
        this.problem = problem ?? null
        if (problem?.status === 400) { // it does not know where this page has read to
          this.problem = new Error('The server does not have all records that this page has read. Load the page anew to see what it has.')
          this.later('seen', () => this.seen(), 0)
        }
        this.changed()
      }
    })
  }

  async load() {
    const { get } = this.api
    this.campaign = await get('')
    const [system, characters, secrets] = await Promise.all([
      this.system ?? systemOf(this.campaign), everyPage(get, '/characters'), everyPage(get, '/secrets'), this.loadSession()
    ])
    this.system = system
    this.characters = newest(this.characters, characters, this.campaign.as_of)
    for (const { n, content } of secrets) if (content) this.secrets.set(n, content)
    this.clock = this.campaign.clock
    await this.loadDuties()
  }

  async refresh() {
    this.campaign = await this.api.get('')
    this.clock = Math.max(this.clock, this.campaign.clock)
    await this.loadSession()
    this.changed()
  }

  async loadSession() {
    const id = this.campaign.session
    const session = id ? await this.api.get(`/sessions/${id}`) : null
    const lane = session?.lanes.filter(l => l.principal === this.me?.handle && l.c0 !== '-').at(-1)
    const device = lane ? await chains.of(this.id, id, lane) : null
    this.session = session // both at once: a roll in between would miss its device
    this.device = device
  }

  /** This lane of mine that rolls come from. */
  get lane() { return this.session?.lanes.filter(l => l.principal === this.me?.handle).at(-1) }

  /** What was asked of devices before the page was opened. */
  async loadDuties() {
    if (!this.session) return
    for (const rec of await everyPage(this.api.get, `/events?session=${this.session.id}&type=${DUTIES}`)) this.duty(rec)
    this.attend()
  }

  /** Follows what is asked of devices. */
  duty(rec) {
    const d = rec.data
    switch (rec.type) {
      case 'seating.closed': this.seating = { n: rec.n, seating: d.seating, ask: d.ask, revealed: new Set() }; break
      case 'seat.revealed': this.seating?.revealed.add(d.lane); break
      case 'seating.sealed': this.seating = null; break
      case 'roll.declared': this.declared = { n: rec.n, lane: d.lane, witness: d.witness, purpose: d.purpose }; break
      case 'roll.passed': if (this.declared) this.declared = { ...this.declared, witness: d.next }; break
      case 'roll.resolved': case 'roll.voided': case 'session.closed': this.declared = null; break
    }
    if (rec.type === 'session.closed') this.seating = null
    if ((rec.type === 'roll.made' || rec.type === 'roll.resolved' || rec.type === 'roll.declared') && d.lane === this.device?.lane && d.i) {
      chains.spend(this.device, d.i).then(next => { if (this.device?.id === next.id) this.device = next })
    }
  }

  receive(rec) {
    if (rec.n < this.next) return
    this.log.set(rec.n, rec)
    this.next = rec.n + 1
    this.clock = rec.type === 'correction.made' ? rec.clock : Math.max(this.clock, rec.clock)
    const d = rec.data ?? {}
    if (d.character) this.happened(rec, d)
    if (/^roll\.(made|resolved|opened)$/.test(rec.type)) this.rolled++
    if (rec.n >= this.live) this.duty(rec)
    if (TABLE.has(rec.type) && rec.n >= this.live) this.later('refresh', () => this.refresh(), 150)
    if (rec.n >= this.live) this.later('attend', () => this.attend(), 400)
    this.later('seen', () => this.seen(), 3000)
    this.changed()
  }

  happened(rec, d) {
    const known = this.characters.get(d.character)
    if (known && rec.n <= known.as_of) return
    if (rec.type === 'character.created') {
      this.characters.set(d.character, { id: d.character, name: d.name, kind: d.kind, owner: d.owner, sheet: d.sheet, retired: false, conditions: [], as_of: rec.n })
    }
    const c = this.characters.get(d.character)
    if (!c) return
    const next = { ...c, as_of: rec.n }
    if (rec.type === 'character.amended') next.sheet = d.sheet
    if (rec.type === 'character.retired') next.retired = true
    if (rec.type === 'character.restored') this.later('restored', () => this.load().then(this.changed), 200)
    if (d.after) Object.assign(next, { alive: d.after.alive, health: d.after.health, conditions: d.after.conditions ?? [], next_tick: d.after.next_tick, state: d.after.state })
    this.characters.set(d.character, next)
  }

  /**
   * Runs f soon, once however often it is asked for meanwhile, and never twice at a time. What fails because nothing can
   * be reached is tried again.
   */
  later(name, f, ms) {
    if (name in this.timers) return
    this.timers[name] = setTimeout(async () => {
      delete this.timers[name]
      if (this.ended) return
      if (this.doing.has(name)) return this.later(name, f, ms || 100)
      this.doing.add(name)
      try {
        await f()
      } catch (error) {
        if (!(error instanceof Problem) || error.status >= 500 || error.status === 429) this.later(name, f, 2000)
      } finally {
        this.doing.delete(name)
      }
    }, ms)
  }

  /** Loads the part of the log around a record. */
  async loadLog(n) {
    const page = Math.floor(n / PAGE) * PAGE
    if (this.asked.has(page)) return
    this.asked.add(page)
    try {
      const { items } = await this.api.get(`/events?from=${page}&limit=${PAGE}`)
      for (const rec of items) if (!this.log.has(rec.n)) this.log.set(rec.n, rec)
      this.changed()
    } catch {
      this.asked.delete(page) // asked for again when it is looked at again
    }
  }

  /** Looks whether the ledger only grew since this device last saw it. */
  async seen() {
    if (!this.campaign) return
    this.campaign = await this.api.get('') // its key may be another one by now
    const { alarm = null, kept = null, unsigned } = await watch(this.id, this.campaign.vkey, this.campaign.keys)
    this.unsigned = unsigned
    this.alarm = alarm
    this.kept = kept
    this.changed()
  }

  // -------------------------------------------------------------- commands

  /**
   * Gives a command. On a device's lane the link goes with it when the rules ask for one, and not before.
   * @param {object} command @param {{key?: string, onWait?: (reason: string) => void}} [options]
   */
  async give(command, options = {}) {
    const key = options.key ?? uuid(), by = this.me.handle
    try {
      return await this.settle(await give(this.id, command, { ...options, by, key }))
    } catch (error) {
      if (error.code !== 'seat_link_due' || !this.device) throw error
      const due = Number(/element (\d+)/.exec(error.message)?.[1]) || undefined
      const seat = await chains.linkFor(this.device, due)
      return this.settle(await give(this.id, { ...command, seat }, { ...options, by, key }))
    }
  }

  async settle(answer) {
    for (const rec of answer.records) {
      const d = rec.data ?? {}
      if (this.device && d.lane === this.device.lane && d.i && rec.type.startsWith('roll.')) this.device = await chains.spend(this.device, d.i)
    }
    return answer
  }

  /** Sends a command of before the page was loaded once more, with its key. */
  async again(command, key) {
    try { await this.give(command, { key }) } catch (error) { this.notice = `What you did before the page closed was refused: ${error.message}` }
    this.waiting = this.waiting.filter(w => w.key !== key)
    this.changed()
  }

  // -------------------------------------------------------------- the device

  /** Takes a seat with chains of this device. */
  async sit({ lost = false, ...options } = {}) {
    const made = await chains.make(this.id, this.session.id)
    const data = { c0: made.c0, x0: made.x0, n: made.n }
    await this.give({ type: 'seat.take', data: lost ? { ...data, lost } : data }, options)
    await this.refresh()
  }

  /** Answers what this device is asked for, by itself. */
  async attend() {
    if (!this.device) return
    try {
      await this.reveal()
      await this.bearWitness()
    } catch (error) {
      if (error instanceof Problem && ['not_asked', 'no_seating', 'not_declared'].includes(error.code)) return // another tab was faster
      this.notice = error.message
      this.changed()
    }
  }

  async reveal() {
    const asked = this.seating?.ask.find(a => a.lane === this.device.lane)
    if (!asked || this.seating.revealed.has(asked.lane) || this.busy) return
    this.busy = true
    try {
      const { get } = this.api
      const raw = n => get(`/events?from=${n}&limit=1`, { accept: 'application/x-ndjson', text: true }).then(t => t.replace(/\n$/, ''))
      const seats = await everyPage(get, `/events?session=${this.session.id}&type=seat.taken`)
      const mine = seats.find(r => r.data.lane === this.device.lane && r.data.c0 === this.device.c0)
      if (!mine) throw new Error('The seat of this device is not in the ledger. Nothing was given away.')
      await chains.mayReveal(this.device, {
        closed: await raw(this.seating.n), seatLine: await raw(mine.n), vkey: this.campaign.vkey,
        receipt: await get(`/proofs/inclusion?n=${this.seating.n}`, { accept: 'text/plain', text: true })
      })
      await this.give({ type: 'seat.reveal', data: { lane: asked.lane, m: asked.m, x: await chains.witness(this.device, asked.m) } })
    } finally {
      this.busy = false
    }
  }

  async bearWitness() {
    const d = this.declared
    if (!d || d.witness.lane !== this.device?.lane || this.witnessing === d.n) return
    this.witnessing = d.n
    await this.give({ type: 'roll.witness', data: { declared: d.n, w: await chains.witness(this.device, d.witness.m) } })
  }

  /** A new token for somebody. One's own ends at once with its feeds, so this browser takes up the new one first. */
  async newToken(handle) {
    const mine = handle === this.me.handle
    if (mine) this.stop()
    try {
      const made = await this.api.post(`/participants/${encodeURIComponent(handle)}/token`)
      if (mine) await signIn(made.token).catch(() => {}) // the link that is shown now still leads in
      return made
    } finally {
      if (mine && !this.ended) this.listen()
    }
  }

  end() {
    this.ended = true
    this.stop?.()
    for (const t of Object.values(this.timers)) clearTimeout(t)
  }
}

/** Characters as they were listed, but for those of which something newer came meanwhile. */
function newest(had, listed, asOf) {
  const now = new Map(listed.map(c => [c.id, c]))
  for (const [id, c] of had) if (c.as_of > (now.get(id)?.as_of ?? asOf)) now.set(id, c)
  return now
}

const open = new Map()

/** The store of a campaign, kept while one moves between its pages. */
export function storeOf(id) {
  if (!open.has(id)) {
    for (const [other, store] of open) { store.end(); open.delete(other) }
    const store = new Store(id)
    open.set(id, store)
    store.start()
  }
  return open.get(id)
}

/** Ends all stores: somebody signs in or out. */
export function closeStores() {
  for (const store of open.values()) store.end()
  open.clear()
}

/** Ends the stores of those who are somebody else by now: another tab has signed in or out. */
export function closeForeign() {
  for (const [id, store] of open) {
    if (store.handle === inCampaign(id)?.handle && store.connection !== 'refused') continue
    store.end()
    open.delete(id)
  }
}

/** Draws again whenever the store changes. */
export function useStore(store) {
  const [, set] = useState(0)
  useLayoutEffect(() => { // no change between drawing and listening is missed
    const f = () => set(n => n + 1)
    store.listeners.add(f)
    return () => store.listeners.delete(f)
  }, [store])
  return store
}
