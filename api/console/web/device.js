// What this device keeps in IndexedDB: its chains of secrets, the newest checkpoint of each campaign, and alarms. Where the browser keeps nothing (some private windows) it is held in memory, and the page says so.

const memory = { chains: new Map(), checkpoints: new Map(), alarms: new Map() }
/** Whether what is kept survives the page. */
export let lasting = true

const opened = new Promise(resolve => {
  const inMemory = () => { lasting = false; resolve(null) }
  try {
    const ask = indexedDB.open('tallystick', 1)
    ask.onupgradeneeded = () => { for (const name of Object.keys(memory)) ask.result.createObjectStore(name) }
    ask.onsuccess = () => resolve(ask.result)
    ask.onerror = inMemory
  } catch {
    inMemory()
  }
})

async function act(store, mode, f) {
  const db = await opened
  return new Promise((resolve, reject) => {
    const transaction = db.transaction(store, mode)
    const asked = f(transaction.objectStore(store))
    transaction.oncomplete = () => resolve(asked?.result)
    transaction.onerror = transaction.onabort = () => reject(transaction.error)
  })
}

/** @typedef {'chains'|'checkpoints'|'alarms'} Kind */

/** @param {Kind} store */
export async function load(store, key) {
  return await opened ? act(store, 'readonly', s => s.get(key)) : memory[store].get(key)
}

/** @param {Kind} store */
export async function save(store, key, value) {
  if (!await opened) memory[store].set(key, value)
  else await act(store, 'readwrite', s => s.put(value, key))
}

/**
 * Puts what change makes of the value that is kept, in one transaction, so that two tabs do not undo each other. change
 * gets undefined where nothing is kept yet; nothing is written when it gives undefined or throws.
 * @param {Kind} store @returns {Promise<any>} what change gave
 */
export async function update(store, key, change) {
  let next
  if (!await opened) {
    next = change(memory[store].get(key))
    if (next !== undefined) memory[store].set(key, next)
    return next
  }
  let failure = null
  await act(store, 'readwrite', s => {
    const asked = s.get(key)
    asked.onsuccess = () => {
      try {
        next = change(asked.result)
        if (next !== undefined) s.put(next, key)
      } catch (error) {
        failure = error
      }
    }
  })
  if (failure) throw failure
  return next
}

/** @param {Kind} store */
export async function drop(store, key) {
  if (!await opened) memory[store].delete(key)
  else await act(store, 'readwrite', s => s.delete(key))
}

/** Everything in a store whose key begins so. @param {Kind} store */
export async function loadAll(store, prefix) {
  if (!await opened) return [...memory[store]].filter(([key]) => key.startsWith(prefix)).map(([, value]) => value)
  return act(store, 'readonly', s => s.getAll(IDBKeyRange.bound(prefix, prefix + '\uffff')))
}
