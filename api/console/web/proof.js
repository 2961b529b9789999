// The tree, in the browser: inclusion, consistency, signatures, and the checkpoint this device keeps.
import { drop, load, save, update } from './device.js'
import { base64, bytesOf, ed25519, hex, sha256, unbase64, utf8 } from './subtle.js'
import { within } from './api.js'

/** @typedef {{origin: string, size: number, root: string, text: string, signed: string, signatures: {name: string, data: Uint8Array}[]}} Checkpoint */

/** Reads a signed tree head. @returns {Checkpoint} */
export function readCheckpoint(text) {
  const cut = text.indexOf('\n\n')
  const [origin, size, root] = text.slice(0, cut).split('\n')
  if (cut < 0 || !/^\d+$/.test(size ?? '') || !root) throw new Error('This is no checkpoint.')
  const signatures = text.slice(cut + 2).split('\n').filter(Boolean).map(line => {
    const [, name, data] = /^\u2014 (\S+) (\S+)$/.exec(line) ?? []
    if (!name) throw new Error('This is no checkpoint.')
    return { name, data: unbase64(data) }
  })
  return { origin, size: Number(size), root, text, signed: text.slice(0, cut + 1), signatures }
}

/** Reads a receipt: index, hashes, checkpoint. */
export function readReceipt(text) {
  const cut = text.indexOf('\n\n')
  const [head, index, ...hashes] = text.slice(0, cut).split('\n')
  if (head !== 'c2sp.org/tlog-proof@v1' || !/^index \d+$/.test(index ?? '')) throw new Error('This is no receipt.')
  return { index: Number(index.slice(6)), hashes: hashes.map(unbase64), checkpoint: readCheckpoint(text.slice(cut + 2)) }
}

const leaf = record => sha256(bytesOf([0], record))
const node = (left, right) => sha256(bytesOf([1], left, right))

/** The root that an inclusion proof leads to (RFC 9162, 2.1.3.2). */
export async function rootOfInclusion(record, index, size, hashes) {
  if (index >= size) throw new Error('The record is not in a tree of this size.')
  let fn = index, sn = size - 1, r = await leaf(record)
  for (const p of hashes) {
    if (sn === 0) throw new Error('The proof is too long.')
    if (fn % 2 === 1 || fn === sn) {
      r = await node(p, r)
      while (fn % 2 === 0 && fn !== 0) { fn /= 2; sn = Math.floor(sn / 2) }
    } else {
      r = await node(r, p)
    }
    fn = Math.floor(fn / 2)
    sn = Math.floor(sn / 2)
  }
  if (sn !== 0) throw new Error('The proof is too short.')
  return base64(r)
}

/** Whether a tree of one root and size grew into another (RFC 9162, 2.1.4.2). */
export async function consistent(first, firstRoot, second, secondRoot, hashes) {
  if (first === second) return hashes.length === 0 && firstRoot === secondRoot
  if (first === 0) return hashes.length === 0
  const path = hashes.map(unbase64)
  if (Number.isInteger(Math.log2(first))) path.unshift(unbase64(firstRoot))
  if (path.length === 0) return false
  let fn = first - 1, sn = second - 1
  while (fn % 2 === 1) { fn = Math.floor(fn / 2); sn = Math.floor(sn / 2) }
  let fr = path[0], sr = path[0]
  for (const c of path.slice(1)) {
    if (sn === 0) return false
    if (fn % 2 === 1 || fn === sn) {
      fr = await node(c, fr)
      sr = await node(c, sr)
      while (fn % 2 === 0 && fn !== 0) { fn /= 2; sn = Math.floor(sn / 2) }
    } else {
      sr = await node(sr, c)
    }
    fn = Math.floor(fn / 2)
    sn = Math.floor(sn / 2)
  }
  return sn === 0 && base64(fr) === firstRoot && base64(sr) === secondRoot
}

/** Checks a checkpoint's signature: true, or null where this browser cannot. Throws if it is wrong. */
export async function checkSignature(checkpoint, vkey) {
  const [, origin, id, key] = /^([^+\s]+)\+([0-9a-f]{8})\+(.+)$/.exec(vkey) ?? []
  if (origin !== checkpoint.origin) throw new Error('The checkpoint is of another ledger.')
  const mine = checkpoint.signatures.find(s => s.name === origin && hex(s.data.slice(0, 4)) === id)
  if (!mine) throw new Error('The checkpoint is not signed by this ledger.')
  const good = await ed25519(unbase64(key).slice(1), mine.data.slice(4), utf8(checkpoint.signed))
  if (good === false) throw new Error('The signature of the checkpoint is wrong.')
  return good
}

/** Checks that a receipt holds for the bytes of a record. */
export async function checkReceipt(text, record, vkey) {
  const receipt = readReceipt(text)
  await checkSignature(receipt.checkpoint, vkey)
  const root = await rootOfInclusion(record, receipt.index, receipt.checkpoint.size, receipt.hashes)
  if (root !== receipt.checkpoint.root) throw new Error('The receipt does not lead to the checkpoint.')
  return receipt.checkpoint
}

// ---------------------------------------------------------------- what this device has seen

/** @typedef {{size: number, root: string, text: string, vkey: string, at: string}} Kept */
/** @typedef {{kind: 'ROLLBACK'|'FORK'|'ANEW', text: string, kept: string, shown: string, at: string}} Alarm */

/** @returns {Promise<Kept|undefined>} */
export const keptCheckpoint = campaign => load('checkpoints', campaign)
/** @returns {Promise<Alarm|undefined>} */
export const alarmOf = campaign => load('alarms', campaign)

/** Forgets what this device has seen of a campaign, and begins anew with what it is shown next. */
export async function forgetSeen(campaign) {
  await drop('alarms', campaign)
  await drop('checkpoints', campaign)
}

async function raise(campaign, kind, text, kept, shown) {
  const alarm = { kind, text, kept, shown, at: new Date().toISOString() }
  await save('alarms', campaign, alarm)
  return { alarm, kept: await keptCheckpoint(campaign) }
}

/**
 * Holds the server's newest checkpoint against the one this device keeps, and keeps the newer one.
 * @returns {Promise<{kept?: Kept, alarm?: Alarm, unsigned?: boolean}>}
 */
export async function watch(campaign, vkey, keys = []) {
  const standing = await alarmOf(campaign)
  const kept = await keptCheckpoint(campaign)
  if (standing) return { alarm: standing, kept }
  const { get } = within(campaign)
  const shown = readCheckpoint(await get('/checkpoint', { accept: 'text/plain', text: true }))
  let signed
  try {
    signed = await checkSignature(shown, vkey)
  } catch (error) {
    return raise(campaign, 'FORK', error.message, kept?.text ?? '', shown.text)
  }
  if (kept) {
    if (shown.size < kept.size && await leads(kept, vkey, keys) === true) {
      return raise(campaign, 'ROLLBACK', `This device has seen ${kept.size} records of this campaign. The server now shows ${shown.size}.`, kept.text, shown.text)
    }
    const led = await leads(kept, vkey, keys)
    if (led !== true) return raise(campaign, led ? 'ANEW' : 'FORK', led || 'The key of this ledger is another one, and the key before has not signed for it.', kept.text, shown.text)
    if (!await grew(get, kept, shown)) {
      return raise(campaign, 'FORK', `The first ${kept.size} records are not the ones that this device saw on ${kept.at.slice(0, 10)}.`, kept.text, shown.text)
    }
  }
  const fresh = { size: shown.size, root: shown.root, text: shown.text, vkey, at: new Date().toISOString() }
  const newest = await update('checkpoints', campaign, now => now?.size > fresh.size ? now : fresh) // another tab may have seen more by now
  return { kept: newest, unsigned: signed === null }
}

/**
 * Whether the keys of a campaign lead from the one this device knows to the one that signs now: true or false, or a
 * sentence when the ledger was begun anew after a loss.
 */
async function leads(kept, vkey, keys) {
  const at = keys.findIndex(k => k.vkey === kept.vkey)
  if (kept.vkey === vkey) return true
  if (at < 0 || keys.at(-1).vkey !== vkey) return false
  for (let k = at + 1; k < keys.length; k++) {
    const { n, lost, endorsed } = keys[k]
    if (lost) {
      return `The server says that records were lost, and has begun the ledger anew at record ${n}. ` + (kept.size > n
        ? `This device has seen ${kept.size} records: those from ${n} on are lost.` : 'Nothing that this device has seen is lost.')
    }
    if (!endorsed || !await names(endorsed, keys[k - 1].vkey, keys[k].vkey)) return false
  }
  return true
}

/** Whether a signed note by the old key names the new one its successor. */
async function names(endorsed, old, renewed) {
  const note = readCheckpoint(endorsed.replace('\nkey.rotated\n', '\n0\n')) // the shape of a checkpoint, with a word for the size
  const signed = `${old.split('+')[0]}\nkey.rotated\n${renewed}\n`
  if (!endorsed.startsWith(signed + '\n')) return false
  try {
    return await checkSignature({ ...note, signed }, old) !== false
  } catch {
    return false
  }
}

async function grew(get, kept, shown) {
  if (kept.size === shown.size) return kept.root === shown.root
  const { hashes } = await get(`/proofs/consistency?from=${kept.size}&to=${shown.size}`)
  return consistent(kept.size, kept.root, shown.size, shown.root, hashes)
}
