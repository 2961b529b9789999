// Whether this device may take a seat.

/**
 * One takes a seat before the seats are closed; somebody who was seated without a device may still do it until the
 * first roll.
 * @param {import('./store.js').Store} store
 */
export function canSit(store) {
  if (!store.session || store.me?.role === 'spectator' || store.me?.admin || store.seating) return false
  const lane = store.lane
  return !lane || (lane.c0 === '-' && lane.x0 === '-' && Boolean(lane.joint) && !used(store, lane))
}

/** Whether the seats of the session are open: sitting down now costs nobody anything. */
export const seatsOpen = store => !store.seating && Boolean(store.session?.lanes.some(l => !l.joint))

const used = (store, lane) => [...store.log.values()].some(r => r.data?.lane === lane.lane && r.data?.i)
