// One roll, checked from the records alone, step by step: the promise, the seed, the dice, the tree.
import { everyPage, within } from './api.js'
import { keptCheckpoint, readReceipt, rootOfInclusion } from './proof.js'
import { hex, hmac, sha256, unhex, utf8 } from './subtle.js'

/** @typedef {{title: string, good: boolean|null, text: string, detail?: string[]}} Step */

async function backTo(element, steps) {
  let value = unhex(element)
  for (let k = 0; k < steps; k++) value = await sha256(value)
  return hex(value)
}

/** The faces that a roll's seeds give, each with how it comes about. */
export async function computeDice(data, joint) {
  const { lane, i, s, c = '-', w = '-' } = data
  const dice = []
  let block = null, text = '', used = 8, t = 0
  const word = async () => {
    if (used === 8) {
      const bytes = await hmac(unhex(s), utf8(`dice/v1\n${joint}\n${lane}\n${i}\n${c || '-'}\n${w || '-'}\n${t++}\n`))
      block = new DataView(bytes.buffer)
      text = hex(bytes)
      used = 0
    }
    const at = used++
    return [block.getUint32(4 * at), text.slice(8 * at, 8 * at + 8)]
  }
  for (const [sides] of data.draws) {
    if (sides === 1) { dice.push({ sides, face: 1, how: 'a die of one side shows 1' }); continue }
    const limit = 2 ** 32 - 2 ** 32 % sides
    let [x, digits] = await word()
    while (x >= limit) [x, digits] = await word()
    dice.push({ sides, face: x % sides + 1, how: `${digits} = ${x}; ${x} mod ${sides} = ${x % sides}; plus one is ${x % sides + 1}` })
  }
  return dice
}

/** The joint seed of a seating, from the records of the seats; and what stands in the ledger. */
async function jointOf(campaign, session, number, records) {
  const lanes = new Map(), rows = new Map()
  let previous = '-'
  for (const { type, data } of records) {
    if (data.session !== session) continue
    if (type === 'seat.taken') {
      lanes.set(data.lane, data)
      if (data.seating === number) rows.set(data.lane, '-')
    }
    if (data.seating === number && type === 'seating.closed') for (const a of data.ask ?? []) if (!rows.has(a.lane)) rows.set(a.lane, '-')
    if (data.seating === number && type === 'seat.revealed') rows.set(data.lane, data.x)
    if (type !== 'seating.sealed') continue
    if (data.seating !== number) { previous = data.joint; continue }
    let text = `dice-joint/v1\n${campaign}\n${session}\n${number}\n${previous}\n`
    for (const name of [...rows.keys()].sort()) {
      const l = lanes.get(name)
      text += `${name} ${l.n} ${l.s0} ${l.c0} ${l.x0} ${rows.get(name)}\n`
    }
    return { computed: hex(await sha256(utf8(text))), stands: data.joint, gave: [...rows].filter(([, x]) => x !== '-').map(([name]) => name) }
  }
  throw new Error('The seats of this roll were never sealed.')
}

/**
 * Checks a roll. yields each step as it is done.
 * @param {string} campaign @param {number} n @returns {AsyncGenerator<Step>}
 */
export async function * checkRoll(campaign, n) {
  const { get } = within(campaign)
  const line = (await get(`/events?from=${n}&limit=1`, { accept: 'application/x-ndjson', text: true })).replace(/\n$/, '')
  const record = JSON.parse(line), data = record.data
  const opened = await openingOf(record, get)
  if (opened) {
    yield * checkOpened(campaign, opened, get)
  } else if (record.type === 'roll.sealed') {
    yield { title: 'Sealed', good: null, text: 'This roll is secret. Its seal stands in the ledger, so it cannot be changed; what was rolled can be checked once it is opened.' }
  } else if (!('draws' in data)) {
    // a record without dice: only its place in the book can be checked
  } else if (data.source === 'physical') {
    yield { title: 'Dice from the table', good: null, text: 'These dice were thrown by hand and typed in. The ledger holds what was typed, and nobody can prove the throw.' }
  } else if (data.s) {
    yield * checkSeeds(campaign, data, get)
  } else {
    yield { title: 'Not shown', good: null, text: 'The dice of this roll are not in the records that you may read, so there is nothing to compute yet.' }
  }
  yield await checkTree(campaign, n, line, get)
}

/** The record that shows a secret roll, of its own record or of the one that sealed it. */
async function openingOf(record, get) {
  if (record.type === 'roll.opened') return record
  if (record.type !== 'roll.sealed') return null
  const hidden = (await get(`/secrets?from=${record.n}&limit=1`)).items[0]
  return hidden?.n === record.n && hidden.opened ? (await get(`/events?from=${hidden.opened}&limit=1`)).items[0] : null
}

async function * checkOpened(campaign, { data: { sealed, salt, payload } }, get) {
  const before = (await get(`/events?from=${sealed}&limit=1`)).items[0]
  const seal = hex(await hmac(unhex(salt), utf8(payload)))
  const good = before?.type === 'roll.sealed' && before.data.seal === seal
  yield {
    title: 'The seal', good,
    text: good ? `What was shown is what was sealed in record ${sealed}, before anybody could know what would be asked of it.` : `What was shown is not what was sealed in record ${sealed}.`,
    detail: [`HMAC of what was shown   ${seal}`, `seal in record ${sealed}   ${before?.data.seal}`]
  }
  const shown = JSON.parse(payload)
  if (shown.source === 'physical') yield { title: 'Dice from the table', good: null, text: 'These dice were thrown by hand and typed in. The ledger holds what was typed, and nobody can prove the throw.' }
  else yield * checkSeeds(campaign, shown, get)
}

async function * checkSeeds(campaign, data, get) {
  const seats = await everyPage(get, `/events?session=${data.session}&type=seat.taken,seating.closed,seat.revealed,seating.sealed`)
  const seat = seats.find(r => r.type === 'seat.taken' && r.data.session === data.session && r.data.lane === data.lane)
  if (!seat) { yield { title: 'The promise', good: false, text: `No seat was taken for the lane ${data.lane}.` }; return }
  const { s0, c0, seating } = seat.data
  const anchor = await backTo(data.s, data.i)
  yield {
    title: 'The promise of the server', good: anchor === s0,
    text: anchor === s0 ? `The secret of this roll leads back, in ${data.i} steps, to what the server promised before the first roll.`
      : 'The secret of this roll does not lead back to what the server promised.',
    detail: [`secret   ${data.s}`, `SHA-256 ${data.i} times   ${anchor}`, `promised in record ${seat.n}   ${s0}`]
  }
  if (c0 !== '-') {
    const mine = data.c && data.c !== '-' ? await backTo(data.c, data.i) : '-'
    yield {
      title: "The promise of the roller's device", good: mine === c0,
      text: mine === c0 ? 'The part of the device leads back to what it promised. The server could not foresee this roll.' : 'The part of the device is not the one that was promised.',
      detail: [`part of the device   ${data.c}`, `SHA-256 ${data.i} times   ${mine}`, `promised in record ${seat.n}   ${c0}`]
    }
  }
  const joint = await jointOf(campaign, data.session, seating, seats)
  yield {
    title: 'The seed of the table', good: joint.computed === joint.stands,
    text: joint.computed !== joint.stands ? 'The seed of the table does not follow from the seats.'
      : joint.gave.length > 0 ? `The seed follows from the seats. ${joint.gave.join(', ')} gave a secret to it, so the server could not choose the dice alone.`
        : 'The seed follows from the seats. No device gave a secret to it: the server cannot change its mind, but it could have looked ahead.',
    detail: [`computed   ${joint.computed}`, `in the ledger   ${joint.stands}`]
  }
  const dice = await computeDice(data, joint.stands)
  const wrong = dice.findIndex((d, k) => d.face !== data.draws[k][1])
  yield {
    title: dice.length === 1 ? 'The die' : `The ${dice.length} dice`, good: wrong < 0,
    text: wrong < 0 ? `The seeds give ${dice.map(d => d.face).join(', ')}, as the ledger says.` : `Die ${wrong + 1} shows ${data.draws[wrong][1]}, but the seeds give ${dice[wrong].face}.`,
    detail: dice.map(d => `d${d.sides}   ${d.how}`)
  }
}

async function checkTree(campaign, n, line, get) {
  const title = 'The book'
  const kept = await keptCheckpoint(campaign)
  if (!kept) return { title, good: null, text: 'This device has kept no checkpoint yet, so it cannot say whether this is the history it saw.' }
  if (n >= kept.size) return { title, good: null, text: `This record is newer than the checkpoint that this device keeps (${kept.size} records).` }
  try {
    const receipt = readReceipt(await get(`/proofs/inclusion?n=${n}&size=${kept.size}`, { accept: 'text/plain', text: true }))
    const root = await rootOfInclusion(utf8(line), n, kept.size, receipt.hashes)
    return {
      title, good: root === kept.root,
      text: root === kept.root ? `Record ${n} is in the history that this device keeps the seal of (${kept.size} records).` : `Record ${n} is not the one in the history that this device keeps the seal of.`,
      detail: [`computed root   ${root}`, `kept root   ${kept.root}`]
    }
  } catch (error) {
    return { title, good: false, text: error.message }
  }
}
