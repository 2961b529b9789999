// Who takes part: inviting, links that are lost, leaving.
import { html, useState } from './html.js'
import { linkFor } from './auth.js'
import { Act, Copy, Dialog, QR } from './ui.js'

const ROLES = { gm: 'game master', player: 'player', spectator: 'spectator' }

export function People({ store }) {
  const [shown, setShown] = useState(null) // { handle, token }
  const people = store.campaign.participants
  const lanes = store.session?.lanes ?? []
  const fresh = async p => setShown(store.gm && p.handle !== store.me.handle ? await invite(store, p) : await store.newToken(p.handle))
  const remove = async (handle, options) => { await store.give({ type: 'participant.remove', data: { handle } }, options); await store.refresh() }
  return html`<h1>People</h1>
    <ul class="rows">${people.map(p => {
      const device = lanes.some(l => l.principal === p.handle && l.c0 !== '-')
      return html`<li class="person-row" key=${p.handle}><div class="heading"><p class="grow"><strong>${p.name || p.handle}</strong> <span class="quiet">${p.name ? p.handle + ', ' : ''}${ROLES[p.role]}${p.handle === store.me.handle ? ', you' : ''}${device ? ', sits with a device' : ''}</span></p>
        ${store.gm || store.me.admin || p.handle === store.me.handle ? html`<${Confirm} text="New link" question=${question(store, p)} work=${() => fresh(p)} />` : null}
        ${store.gm && p.handle !== store.me.handle ? html`<${Confirm} text="Remove" question=${`Remove ${p.handle} from the table? What they did stays in the ledger.`} work=${options => remove(p.handle, options)} />` : null}</div></li>`
    })}</ul>
    ${store.gm ? html`<${Invite} store=${store} onMade=${setShown} />` : null}
    ${shown ? html`<${Dialog} title=${`Link for ${shown.handle}`} onClose=${() => setShown(null)}><${Link} ...${shown} /><//>` : null}`
}

const question = (store, p) => p.handle === store.me.handle ? 'Make a new link for yourself? Your other devices are signed out.'
  : store.gm ? `Make a new link for ${p.handle}? Their device of now is signed out when it is opened.` : `Make a new link for ${p.handle}? All their devices are signed out at once.`

/** A link that is good once, for somebody who takes part. */
const invite = async (store, { handle, role }) => ({ ...await store.api.post('/invitations', { handle, role }), once: true })

function Invite({ store, onMade }) {
  const [handle, setHandle] = useState('')
  const [name, setName] = useState('')
  const [role, setRole] = useState('player')
  const make = async options => {
    if (!handle) throw new Error('Give a handle first: a short name, such as mara.')
    const data = { handle, role }
    if (name.trim()) data.name = name.trim()
    await store.give({ type: 'participant.add', data }, options)
    const made = await invite(store, data)
    setHandle('')
    setName('')
    await store.refresh()
    return made
  }
  return html`<section class="card" aria-labelledby="invite"><h2 id="invite">Invite somebody</h2>
    <form onSubmit=${e => e.preventDefault()}>
      <div class="field"><label for="handle">Handle</label><input id="handle" maxlength="32" autocapitalize="none" spellcheck="false" autocomplete="off" aria-describedby="handle-hint" value=${handle} onInput=${e => setHandle(e.target.value.toLowerCase())} />
        <p class="hint" id="handle-hint">a to z, 0 to 9, dot and hyphen; it cannot be changed later</p></div>
      <div class="field"><label for="person">Name <span class="quiet">optional</span></label><input id="person" maxlength="200" autocomplete="off" value=${name} onInput=${e => setName(e.target.value)} /></div>
      <div class="field"><label for="role">Takes part as</label><select id="role" value=${role} onChange=${e => setRole(e.target.value)}>
        <option value="player">player</option><option value="spectator">spectator, looks on</option><option value="gm">game master</option></select></div>
      <div class="actions"><${Act} submit class="main" work=${make} onDone=${onMade}>Make the link<//></div>
    </form></section>`
}

function Link({ token, handle, once }) {
  const link = linkFor(token)
  const here = ['localhost', '127.0.0.1', '[::1]'].includes(location.hostname)
  return html`<p>Let ${handle} scan this with their phone, or send them the link. ${once ? 'It lets them in once, within a week, and their device stays signed in.' : 'It signs in every device it is opened on: keep it like a key.'} It is not shown again.</p>
    <${QR} text=${link} label=${`Code with the link of ${handle}`} />
    <${Copy} text=${link} label=${`Link of ${handle}`} />
    ${here ? html`<p class="notice">This link works on this computer only. For phones, let the server listen in your network (<code>--listen 0.0.0.0:8037</code>), open this page by the computer's own address, and make the link there.</p>` : null}`
}

/** A button that asks once more. */
function Confirm({ text, question, work }) {
  const [asking, setAsking] = useState(false)
  return html`<button type="button" class="plain" onClick=${() => setAsking(true)}>${text}</button>
    ${asking ? html`<${Dialog} title=${question} onClose=${() => setAsking(false)}><div class="actions end"><button type="button" onClick=${() => setAsking(false)}>No</button><${Act} class="main" work=${work} onDone=${() => setAsking(false)}>Yes<//></div><//>` : null}`
}
