// The device's chains. With one of its own nobody foresees its rolls, and with a witness chain it takes part in the seed
// of everybody's dice. A secret leaves the device in order, one at a time, and only for what was asked.
import { loadAll, save, update } from './device.js'
import { checkReceipt } from './proof.js'
import { hex, sha256, unhex, utf8, uuid } from './subtle.js'

/** Length of a device's chains: more rolls than an evening has. */
export const LENGTH = 1024

/**
 * @typedef {{id: string, campaign: string, session: string, lane: string|null, n: number, c: string, x: string, c0: string, x0: string,
 *   given: number, spent: number, shown: number}} Chains
 * c and x are the last elements, the secrets all others follow from; given is the index of the last roll's link that left
 * this device, spent that of the last of them that is in the ledger, shown that of the last witness element given away.
 */

async function back(secret, steps) {
  let value = unhex(secret)
  for (let k = 0; k < steps; k++) value = await sha256(value)
  return hex(value)
}

const random = () => hex(crypto.getRandomValues(new Uint8Array(32)))
const keyOf = chains => `${chains.campaign}/${chains.session}/${chains.id}`

/** Makes chains of fresh chance for a session, and keeps them before anybody hears of them. @returns {Promise<Chains>} */
export async function make(campaign, session) {
  const c = random(), x = random()
  const chains = { id: uuid(), campaign, session, lane: null, n: LENGTH, c, x, c0: await back(c, LENGTH), x0: await back(x, LENGTH), given: 0, spent: 0, shown: 0 }
  await save('chains', keyOf(chains), chains)
  return chains
}

/** The chains of this device that a lane was committed to. @param {{lane: string, c0: string, x0: string}} lane */
export async function of(campaign, session, lane) {
  const mine = (await loadAll('chains', `${campaign}/${session}/`)).find(k => k.c0 === lane.c0 && k.x0 === lane.x0)
  if (!mine) return null
  return { ...mine, lane: lane.lane }
}

/** Changes kept chains, from what is there now: another tab may have moved them. */
async function move(chains, change) {
  const next = await update('chains', keyOf(chains), now => ({ ...(now ?? chains), ...change(now ?? chains) }))
  return { ...next, lane: chains.lane }
}

/**
 * The link that goes with a command on a device's lane. due is what the server says is due; a server that asks ahead
 * would learn the rolls before them, so nothing but the next one is given.
 */
export async function linkFor(chains, due) {
  let i
  await move(chains, now => {
    i = due ?? now.spent + 1
    if (i !== now.spent + 1 || i > now.n) {
      throw new Error(`The server asks this device for roll ${i}, but roll ${now.spent + 1} is next. Nothing was given away. Take a new seat, and tell your table.`)
    }
    return { given: Math.max(now.given ?? now.spent, i) }
  })
  return { lane: chains.lane, i, c: await back(chains.c, chains.n - i) }
}

/**
 * Notes that roll i of the lane is in the ledger. A roll whose link this device never gave moves nothing: a server that
 * shows rolls which were never made must not have the links behind them.
 */
export const spend = (chains, i) => move(chains, now => ({ spent: i <= (now.given ?? now.spent) ? Math.max(now.spent, i) : now.spent }))

/** Element m of the witness chain. It is given in order, or again. */
export async function witness(chains, m) {
  await move(chains, now => {
    if (m > now.shown + 1 || m > now.n) throw new Error(`The server asks this device for secret ${m}, but ${now.shown + 1} is next. Nothing was given away.`)
    return { shown: Math.max(now.shown, m) }
  })
  return back(chains.x, chains.n - m)
}

/**
 * Whether this device may reveal its part of the joint seed: it holds a receipt for seating.closed, and its own anchors
 * stand in a record before it. lines are records as stored. Throws what is wrong.
 */
export async function mayReveal(chains, { closed, seatLine, receipt, vkey }) {
  const seat = JSON.parse(seatLine)
  const mine = seat.type === 'seat.taken' && seat.data.lane === chains.lane && seat.data.c0 === chains.c0 && seat.data.x0 === chains.x0
  if (!mine || seat.n >= JSON.parse(closed).n) throw new Error('The seat of this device is not in the ledger as it was taken. Nothing was given away.')
  await checkReceipt(receipt, utf8(closed), vkey)
}
