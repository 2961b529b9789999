// Who this browser is: tokens, one for the server and one for each campaign. They live in the session storage of this
// tab's browser session and nowhere else. Whoever changes how one signs in changes this file alone.

/** @typedef {{token: string, admin: boolean, campaign?: string, handle?: string, role?: string}} Identity */

const KEY = 'tallystick.identities'

/** @returns {Record<string, Identity>} by campaign id, or 'server' for the admin */
function all() {
  try { return JSON.parse(sessionStorage.getItem(KEY) ?? '{}') } catch { return {} }
}

/** @param {Record<string, Identity>} identities */
function keep(identities) {
  sessionStorage.setItem(KEY, JSON.stringify(identities))
}

/** All identities, the admin's first. @returns {Identity[]} */
export const identities = () => Object.values(all()).sort((a, b) => Number(b.admin) - Number(a.admin))

/** Who one is in a campaign: its participant, or the admin who may look. @returns {Identity|undefined} */
export const inCampaign = campaign => all()[campaign] ?? all().server

/** @returns {Identity|undefined} */
export const admin = () => all().server

/** @param {Identity} identity */
export function adopt(identity) {
  keep({ ...all(), [identity.admin ? 'server' : identity.campaign]: identity })
}

/** Ends a sign-in. Without a campaign all of them end. */
export function forget(campaign) {
  if (campaign === undefined) return sessionStorage.removeItem(KEY)
  const rest = all()
  delete rest[campaign]
  keep(rest)
}

/** Accepts an invitation, which is good once. @returns {Promise<string>} the token that it gives */
async function accept(invitation) {
  const response = await fetch('/v1/invitations/accept', {
    method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ token: invitation }),
  })
  if (response.status === 404) throw new Error('This invitation was used already, or is not good any more. Ask your game master for a new one.')
  if (!response.ok) throw new Error('The server could not let you in. Try the link again in a moment.')
  return (await response.json()).token
}

/** Asks the server whom a token stands for, and keeps it. An invitation is accepted first. @returns {Promise<Identity>} */
export async function signIn(given) {
  const token = given.startsWith('tallyinvite_') ? await accept(given) : given
  const response = await fetch('/v1/me', { headers: { Authorization: 'Bearer ' + token } })
  if (response.status === 401) throw new Error('This link or token is not in force any more. Ask your game master for a new one.')
  if (!response.ok) throw new Error('The server could not say whose token this is. Try again in a moment.')
  const identity = { token, ...await response.json() }
  adopt(identity)
  return identity
}

/** What the Authorization header says. @param {Identity|undefined} identity */
export const authorization = identity => identity ? { Authorization: 'Bearer ' + identity.token } : {}

/** A link that signs a participant in. The token stands behind the #, which no browser sends. */
export const linkFor = token => `${location.origin}/#token=${encodeURIComponent(token)}`

/** Takes a token out of a link or a pasted text. */
export function tokenIn(text) {
  const found = /[#&]token=([^&\s]+)/.exec(text)
  return found ? decodeURIComponent(found[1]) : text.trim()
}
