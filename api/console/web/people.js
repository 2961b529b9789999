// Who takes part: inviting, links that are lost, leaving.
import { html, useState } from './html.js'
import { linkFor } from './auth.js'
import { Act, Copy, Dialog, QR } from './ui.js'
import { uuid } from './subtle.js'

const ROLES = { gm: 'game master', player: 'player', spectator: 'spectator' }

export function People({ store }) {
  const [shown, setShown] = useState(null) // { handle, token }
  const people = store.campaign.participants
  const lanes = store.session?.lanes ?? []
  const fresh = async handle => setShown(await store.api.post(`/participants/${encodeURIComponent(handle)}/token`))
  const remove = async handle => { await store.api.delete(`/participants/${encodeURIComponent(handle)}`, { key: uuid() }); await store.refresh() }
  return html`<h1>People</h1>
    <ul class="rows">${people.map(p => {
      const device = lanes.some(l => l.principal === p.handle && l.c0 !== '-')
      return html`<li class="person-row" key=${p.handle}><div class="heading"><p class="grow"><strong>${p.name || p.handle}</strong> <span class="quiet">${p.name ? p.handle + ', ' : ''}${ROLES[p.role]}${device ? ', sits with a device' : ''}</span></p>
        ${store.gm || p.handle === store.me.handle ? html`<${Confirm} text="New link" question=${`Make a new link for ${p.handle}? The old one ends at once.`} work=${() => fresh(p.handle)} />` : null}
        ${store.gm && p.handle !== store.me.handle ? html`<${Confirm} text="Remove" question=${`Remove ${p.handle} from the table? What they did stays in the ledger.`} work=${() => remove(p.handle)} />` : null}</div></li>`
    })}</ul>
    ${store.gm ? html`<${Invite} store=${store} onMade=${setShown} />` : null}
    ${shown ? html`<${Dialog} title=${`Link for ${shown.handle}`} onClose=${() => setShown(null)}><${Link} token=${shown.token} handle=${shown.handle} /><//>` : null}`
}

function Invite({ store, onMade }) {
  const [handle, setHandle] = useState('')
  const [name, setName] = useState('')
  const [role, setRole] = useState('player')
  const [key, setKey] = useState(uuid)
  const make = async () => {
    if (!handle) throw new Error('Give a handle first: a short name, such as mara.')
    const body = { handle, role }
    if (name.trim()) body.name = name.trim()
    const made = await store.api.post('/participants', body, { key })
    setHandle('')
    setName('')
    setKey(uuid())
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
      <div class="actions"><${Act} class="main" work=${make} onDone=${onMade}>Make the link<//></div>
    </form></section>`
}

function Link({ token, handle }) {
  const link = linkFor(token)
  const here = ['localhost', '127.0.0.1', '[::1]'].includes(location.hostname)
  return html`<p>Let ${handle} scan this with their phone, or send them the link. It is theirs alone and is not shown again.</p>
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
