// Hashes by WebCrypto. A browser gives WebCrypto to secure addresses only, and a phone at the table comes by plain
// http://192.168…: for it SHA-256 and HMAC are computed here, and signatures are said to be not checked.

const K = Uint32Array.from({ length: 64 }, (_, i) => fraction(Math.cbrt, prime(i)))
const START = Uint32Array.from({ length: 8 }, (_, i) => fraction(Math.sqrt, prime(i)))

/** The i-th prime number. */
function prime(i) {
  for (let n = 2; ; n++) {
    let divides = false
    for (let d = 2; d * d <= n && !divides; d++) divides = n % d === 0
    if (!divides && i-- === 0) return n
  }
}

/** The first 32 bits behind the point. */
function fraction(root, n) {
  return Math.floor((root(n) % 1) * 2 ** 32)
}

const turn = (x, n) => (x >>> n) | (x << (32 - n))

/** SHA-256 of bytes, without WebCrypto. @param {Uint8Array} bytes @returns {Uint8Array} */
export function plainSHA256(bytes) {
  const padded = new Uint8Array(Math.ceil((bytes.length + 9) / 64) * 64)
  padded.set(bytes)
  padded[bytes.length] = 0x80
  const view = new DataView(padded.buffer)
  view.setUint32(padded.length - 8, Math.floor(bytes.length / 2 ** 29))
  view.setUint32(padded.length - 4, bytes.length << 3)
  const state = START.slice(), w = new Uint32Array(64)
  for (let at = 0; at < padded.length; at += 64) {
    for (let i = 0; i < 16; i++) w[i] = view.getUint32(at + 4 * i)
    for (let i = 16; i < 64; i++) {
      const a = w[i - 15], b = w[i - 2]
      w[i] = w[i - 16] + (turn(a, 7) ^ turn(a, 18) ^ (a >>> 3)) + w[i - 7] + (turn(b, 17) ^ turn(b, 19) ^ (b >>> 10))
    }
    compress(state, w)
  }
  const out = new DataView(new ArrayBuffer(32))
  state.forEach((word, i) => out.setUint32(4 * i, word))
  return new Uint8Array(out.buffer)
}

function compress(state, w) {
  let [a, b, c, d, e, f, g, h] = state
  for (let i = 0; i < 64; i++) {
    const t1 = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + K[i] + w[i]) | 0
    const t2 = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0
    ;[h, g, f, e, d, c, b, a] = [g, f, e, (d + t1) | 0, c, b, a, (t1 + t2) | 0]
  }
  ;[a, b, c, d, e, f, g, h].forEach((word, i) => { state[i] += word })
}

/** HMAC-SHA256, without WebCrypto. */
export function plainHMAC(key, message) {
  const block = new Uint8Array(64)
  block.set(key.length > 64 ? plainSHA256(key) : key)
  const pad = byte => block.map(b => b ^ byte)
  return plainSHA256(bytesOf(pad(0x5c), plainSHA256(bytesOf(pad(0x36), message))))
}

/** Bytes one after the other. */
export function bytesOf(...parts) {
  const all = new Uint8Array(parts.reduce((n, p) => n + p.length, 0))
  let at = 0
  for (const part of parts) { all.set(part, at); at += part.length }
  return all
}

const stand = {
  digest: async (_, bytes) => plainSHA256(new Uint8Array(bytes)).buffer,
  importKey: async (_, key, algorithm) => {
    if (algorithm.name !== 'HMAC') throw new DOMException('this address is not secure', 'NotSupportedError')
    return new Uint8Array(key)
  },
  sign: async (_, key, message) => plainHMAC(key, new Uint8Array(message)).buffer
}

/** Whether the browser itself computes, and can check signatures. */
export const native = Boolean(globalThis.crypto.subtle)
// The checker of docs/verify takes what it needs from the global object.
if (!native) Object.defineProperty(globalThis.crypto, 'subtle', { value: stand })

/** @param {Uint8Array} bytes @returns {Promise<Uint8Array>} */
export async function sha256(bytes) {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
}

/** @param {Uint8Array} key @param {Uint8Array} message @returns {Promise<Uint8Array>} */
export async function hmac(key, message) {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  return new Uint8Array(await crypto.subtle.sign('HMAC', await crypto.subtle.importKey('raw', key, algorithm, false, ['sign']), message))
}

/** Checks an Ed25519 signature; null where the browser cannot. */
export async function ed25519(key, signature, message) {
  try {
    return await crypto.subtle.verify('Ed25519', await crypto.subtle.importKey('raw', key, 'Ed25519', false, ['verify']), signature, message)
  } catch {
    return null
  }
}

export const utf8 = text => new TextEncoder().encode(text)
export const hex = bytes => Array.from(bytes, b => b.toString(16).padStart(2, '0')).join('')
export const unhex = text => Uint8Array.from(text.match(/../g) ?? [], pair => parseInt(pair, 16))
export const unbase64 = text => Uint8Array.from(atob(text), c => c.charCodeAt(0))
export const base64 = bytes => btoa(String.fromCharCode(...bytes))

/** A random UUID, also where the address is not secure. */
export function uuid() {
  const b = crypto.getRandomValues(new Uint8Array(16))
  b[6] = (b[6] & 0x0f) | 0x40
  b[8] = (b[8] & 0x3f) | 0x80
  return hex(b).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
