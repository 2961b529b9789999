// Talking to the server: requests, problems in words, commands that are sent once, the live feed.
import { uuid } from './subtle.js'

/** What somebody can do about a kind of problem. */
const WAYS_ON = {
  unauthenticated: 'Sign in again with your link; your game master can make you a new one.',
  forbidden: 'Ask your game master to do it.',
  'not-found': 'Go back to the table and choose again.',
  'read-only': 'Reading goes on. Whoever runs the server has to restore this campaign.',
  full: 'Tell whoever runs the server: its disk is full, or fails.',
  internal: 'It is a fault of the program. Try again; if it stays, tell whoever runs the server the number of the request.',
  'too-many-streams': 'Close some of your tabs.'
}

/** An answer that says no. message is a sentence. */
export class Problem extends Error {
  constructor(status, body) {
    super(sentence(body.reason || body.detail || body.title || `The server answered ${status}.`))
    this.status = status
    this.slug = (body.type ?? '').replace('/problems/', '')
    this.code = body.code
    this.rule = body.rule
    this.request = body.request
    this.way = WAYS_ON[this.slug] ?? ''
    /** @type {{location: string, message: string}[]} */
    this.fields = body.errors ?? []
  }
}

/** Nothing came back: the server or the way to it is down. */
export class Offline extends Error {
  constructor() { super('The server cannot be reached.') }
}

/** Text as a sentence. */
export function sentence(text) {
  const s = String(text).trim()
  return s && s[0].toUpperCase() + s.slice(1) + (/[.!?…]$/.test(s) ? '' : '.')
}

/**
 * Sends a request.
 * @param {string} method @param {string} path
 * The browser adds the cookie that says who asks.
 * @param {{body?: unknown, key?: string, accept?: string, signal?: AbortSignal, text?: boolean}} [options]
 */
export async function request(method, path, { body, key, accept = 'application/json', signal, text = false } = {}) {
  const headers = { Accept: accept }
  if (body !== undefined) headers['Content-Type'] = 'application/json'
  if (key) headers['Idempotency-Key'] = key
  let response
  try {
    response = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body).normalize('NFC'), signal, cache: 'no-store' })
  } catch (error) {
    if (error.name === 'AbortError') throw error
    throw new Offline()
  }
  if (!response.ok) throw new Problem(response.status, await response.json().catch(() => ({})))
  if (response.status === 204) return null
  try {
    return text ? await response.text() : await response.json()
  } catch {
    throw new Offline() // the answer broke off
  }
}

/** Requests within one campaign. */
export function within(campaign) {
  const path = `/v1/campaigns/${encodeURIComponent(campaign)}`
  const ask = (method, rest, options) => request(method, path + rest, options)
  return {
    path,
    get: (rest, options) => ask('GET', rest, options),
    post: (rest, body, options) => ask('POST', rest, { body, ...options }),
    delete: (rest, options) => ask('DELETE', rest, options)
  }
}

/** All pages of a list, from an item on. */
export async function everyPage(get, path, limit = 1000, from = 0) {
  const all = []
  while (from !== null) {
    const page = await get(`${path}${path.includes('?') ? '&' : '?'}from=${from}&limit=${limit}`)
    all.push(...page.items)
    from = page.next
  }
  return all
}

// ---------------------------------------------------------------- commands

const OUTBOX = 'tallystick.outbox'
const outbox = () => { try { return JSON.parse(sessionStorage.getItem(OUTBOX) ?? '[]') } catch { return [] } }
const saveOutbox = list => sessionStorage.setItem(OUTBOX, JSON.stringify(list))

/** Commands that somebody gave in a campaign and whose answer never came, from before the page was loaded. */
export const unanswered = (campaign, by) => outbox().filter(entry => entry.campaign === campaign && entry.by === by)

/**
 * Gives a command and waits until it is answered. A lost connection is waited out: the key makes sure that the same
 * command is never executed twice, however often it is sent, also after the page was closed and opened again.
 * @param {string} campaign @param {object} command
 * @param {{by: string, key?: string, onWait?: (reason: string) => void}} options by: the handle of who gives it
 */
export async function give(campaign, command, { by, key = uuid(), onWait }) {
  const { post } = within(campaign)
  saveOutbox([...outbox().filter(e => e.key !== key), { campaign, command, key, by }])
  const done = () => saveOutbox(outbox().filter(e => e.key !== key))
  for (let pause = 500; ; pause = Math.min(2 * pause, 8000)) {
    try {
      const answer = await post('/commands', command, { key })
      done()
      return answer
    } catch (error) {
      if (!worthAnotherTry(error)) { done(); throw error }
      onWait?.(error instanceof Offline ? 'The server cannot be reached. This is kept and sent again, once.' : 'The server is busy. This is sent again, once.')
      await wake(pause)
    }
  }
}

const worthAnotherTry = error => error instanceof Offline ||
  (error instanceof Problem && (['unclear', 'unavailable', 'conflict', 'not-yet'].includes(error.slug) || error.status === 502 || error.status === 504 || error.status === 429))

/** Waits, but no longer than until the network comes back. */
export function wake(ms) {
  return new Promise(resolve => {
    const go = () => { clearTimeout(timer); removeEventListener('online', go); resolve() }
    const timer = setTimeout(go, ms)
    addEventListener('online', go)
  })
}

// ---------------------------------------------------------------- the live feed

const SILENCE = 40_000 // the server says something every 15 seconds

/**
 * Whether this tab is the one that listens for all of its browser's tabs of a campaign. A browser has only a few
 * connections to one server: without this, a handful of tabs in the background would leave none for anything else. Where
 * a browser has no locks (plain HTTP on a phone) every tab listens.
 */
function listener(campaign, changed) {
  if (!navigator.locks) return { elected: () => true, end() {} }
  let elected = false, resign = () => {}
  const asking = new AbortController()
  navigator.locks.request('tallystick.feed.' + campaign, { signal: asking.signal }, () => new Promise(resolve => {
    elected = true
    resign = resolve
    changed()
  })).catch(() => {}) // it was not wanted any more
  return { elected: () => elected, end() { asking.abort(); resign() } }
}

/**
 * Follows a campaign's records for as long as the page wants to. A tab in the background pauses when another one listens.
 * @param {string} campaign
 * @param {{next: () => number, record: (rec: object) => void, secret: (s: {n: number, content: object}) => void, backlogEnd: () => void,
 *   state: (s: 'live'|'lost'|'refused', problem?: Error) => void}} on
 * @returns {() => void} ends it
 */
export function follow(campaign, on) {
  let ended = false, controller = null, retry = 2000, heard = Date.now(), goOn = () => {}
  const wanted = () => ended || !document.hidden || office.elected()
  const poke = () => controller?.abort()
  const look = () => {
    if (!wanted() || (!document.hidden && Date.now() - heard > SILENCE)) poke()
    if (wanted()) goOn()
  }
  const office = listener(campaign, look)
  document.addEventListener('visibilitychange', look)
  addEventListener('online', poke)

  async function once() {
    controller = new AbortController()
    const { path } = within(campaign)
    const next = on.next()
    const resume = next > 0 ? { 'Last-Event-ID': String(next - 1) } : {}
    const watch = setInterval(() => { if (Date.now() - heard > SILENCE) controller.abort() }, 5000)
    try {
      const response = await fetch(path + '/events', { headers: { Accept: 'text/event-stream', ...resume }, signal: controller.signal, cache: 'no-store' })
      if (!response.ok) throw new Problem(response.status, await response.json().catch(() => ({})))
      retry = await read(response.body, on, () => { heard = Date.now() }) ?? retry
    } finally {
      clearInterval(watch)
    }
  }

  async function run() {
    while (!ended) {
      if (!wanted()) await new Promise(resolve => { goOn = resolve })
      let problem
      try {
        heard = Date.now()
        if (!ended) await once()
      } catch (error) {
        problem = error
      }
      if (ended) return
      if (problem instanceof Problem && [401, 403, 404].includes(problem.status)) return on.state('refused', problem)
      if (!wanted()) continue
      on.state('lost', problem instanceof Problem ? problem : undefined)
      await wake(retry)
    }
  }
  run()
  return () => {
    ended = true
    office.end()
    poke()
    goOn()
    document.removeEventListener('visibilitychange', look)
    removeEventListener('online', poke)
  }
}

/** Reads server-sent events until the stream ends. Gives the server's last word on when to come back. */
async function read(body, on, heard) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = '', retry
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return retry
    heard()
    rest += value
    for (let end; (end = rest.indexOf('\n\n')) >= 0; rest = rest.slice(end + 2)) {
      const fields = Object.fromEntries(rest.slice(0, end).split('\n').map(line => /^([^:]*): ?(.*)$/.exec(line)?.slice(1, 3) ?? [line, '']))
      if (fields.retry) retry = Number(fields.retry)
      if (fields.event === 'backlog.end') on.backlogEnd()
      else if (fields.event === 'secret') on.secret(JSON.parse(fields.data))
      else if (fields.data && fields.id !== undefined) on.record(JSON.parse(fields.data))
    }
  }
}

/** Describes a rule system; anybody may ask. */
export const systemOf = ({ system, edition }) => request('GET', `/v1/systems/${encodeURIComponent(system)}${edition ? '?edition=' + edition : ''}`)
/** All rule systems on board. */
export const systems = () => everyPage(path => request('GET', path), '/v1/systems')

let visibilities = null

/**
 * Who may be let to see a roll, by what the server's own description says: "public", "private", "blind" as far as it
 * knows them. Asked for once, when the first form is opened.
 * @returns {Promise<string[]>}
 */
export function visibilitiesOnBoard() {
  visibilities ??= request('GET', '/openapi.json', { accept: 'application/openapi+json' }).then(document => {
    const schema = document.components?.schemas?.RollCommand?.properties?.visibility ?? {}
    return [schema, ...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].flatMap(s => s.enum ?? [])
  }, () => { visibilities = null; return [] })
  return visibilities
}
