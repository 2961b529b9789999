// Who this browser is. The tokens lie in cookies that no script can read, one for the server and one for each campaign;
// kept here is only whose they are, so that the pages know what to offer. Whoever changes how one signs in changes this
// file alone.
import { Problem, request, wake } from './api.js'

/** @typedef {{admin: boolean, campaign?: string, handle?: string, role?: string}} Identity */

const KEY = 'tallystick.identities'
const keyOf = identity => identity.admin ? 'server' : identity.campaign

/** By campaign, or 'server' for the admin. @type {Record<string, Identity>} */
let known = {}

function recall() {
  try { return JSON.parse(localStorage.getItem(KEY) ?? '{}') } catch { return known } // some private windows keep nothing
}

known = recall()

function keep(identities) {
  known = identities
  try { localStorage.setItem(KEY, JSON.stringify(identities)) } catch { /* it holds as long as the page does */ }
}

/** Calls f when another tab has signed in or out. */
export function whenOthersSign(f) {
  const changed = e => { if (e.key === KEY || e.key === null) { known = recall(); f() } }
  addEventListener('storage', changed)
  return () => removeEventListener('storage', changed)
}

/** All identities, the admin's first. @returns {Identity[]} */
export const identities = () => Object.values(known).sort((a, b) => Number(b.admin) - Number(a.admin))

/** Who one is in a campaign: its participant, or the admin who may look. @returns {Identity|undefined} */
export const inCampaign = campaign => known[campaign] ?? known.server

/** @returns {Identity|undefined} */
export const admin = () => known.server

/** Accepts an invitation, which is good once. @returns {Promise<string>} the token that it gives */
async function accept(invitation) {
  try {
    return (await request('POST', '/v1/invitations/accept', { body: { token: invitation } })).token
  } catch (error) {
    if (error.status === 404) throw new Error('This invitation was used already, or is not good any more. Ask your game master for a new one.')
    throw error
  }
}

/** Has the server put a token into the browser's cookie, and keeps whose it is. @returns {Promise<Identity>} */
export async function signIn(given) {
  const invited = given.startsWith('tallyinvite_')
  const token = invited ? await accept(given) : given
  for (;;) {
    try {
      const { admin, campaign, handle, role } = await request('POST', '/v1/sign-in', { body: { token } })
      const identity = { admin, campaign, handle, role }
      keep({ ...recall(), [keyOf(identity)]: identity })
      return identity
    } catch (error) {
      if (error.status === 401) throw new Error('This link or token is not in force any more. Ask your game master for a new one.')
      // An invitation is used up by now, and nobody else has its token: it must not be lost with the connection.
      if (!invited || (error instanceof Problem && error.status < 500 && error.status !== 429)) throw error
      await wake(1000)
    }
  }
}

/** Ends this browser's sign-in to a campaign, or without one the admin's. The token stays in force. */
export async function signOut(campaign) {
  await request('DELETE', '/v1/sign-in' + (campaign ? `?campaign=${encodeURIComponent(campaign)}` : ''))
  const { [campaign ?? 'server']: gone, ...rest } = recall()
  keep(rest)
}

/** A link that signs a participant in. The token stands behind the #, which no browser sends. */
export const linkFor = token => `${location.origin}/#token=${encodeURIComponent(token)}`

/** Takes a token out of a link or a pasted text. */
export function tokenIn(text) {
  const found = /[#&]token=([^&\s]+)/.exec(text)
  try { return found ? decodeURIComponent(found[1]) : text.trim() } catch { return found[1] }
}
