// Before the table: signing in, starting a campaign, joining one.
import { html, useState } from './html.js'
import { admin, identities, linkFor, signIn, signOut, tokenIn } from './auth.js'
import { request, systemOf, systems } from './api.js'
import { lasting } from './device.js'
import { canSit, seatsOpen } from './seat.js'
import { uuid } from './subtle.js'
import { Act, Copy, QR, Trouble, useLoaded, Waiting } from './ui.js'
import { label, wallDate } from './words.js'

/** Who comes without a link, and who has several tables. */
export function Home({ wanted }) {
  const mine = identities().filter(i => !i.admin)
  return html`<h1>Tallystick</h1>
    <p class="lead">A ledger for your table: every roll, wound and healing tick stays as it fell. Nobody can choose, foresee or rewrite it, whoever runs the server included.</p>
    ${wanted ? html`<p class="notice">You are not signed in to this campaign on this device. Open your link again, or paste it here.</p>` : null}
    ${mine.length ? html`<h2>Your tables</h2><ul class="rows">${mine.map(i => html`<${MyTable} identity=${i} />`)}</ul>` : null}
    ${admin() ? html`<${AllTables} />` : null}
    <${SignIn} />
    <p class="quiet">For programs: <a href="/docs">the API</a>, <a href="/openapi.json">its OpenAPI document</a>. <a href="/console/licences.txt">Licences</a> of what this page is made with.</p>`
}

function MyTable({ identity }) {
  const { value } = useLoaded(() => request('GET', `/v1/campaigns/${identity.campaign}`), [identity.campaign])
  return html`<li><a class="go" href=${`#/c/${identity.campaign}/table`}><strong>${value?.name ?? 'Campaign'}</strong> <span class="quiet">as ${identity.handle}${identity.role === 'gm' ? ', game master' : ''}</span></a></li>`
}

function AllTables() {
  const [from, setFrom] = useState(0)
  const [seen, setSeen] = useState([])
  const { value, problem, again } = useLoaded(() => request('GET', `/v1/campaigns?from=${from}&limit=100`), [from])
  const items = [...seen, ...value?.items ?? []]
  const more = () => { setSeen(items); setFrom(value.next) }
  return html`<h2>Campaigns on this server</h2>
    <p class="actions"><a class="button" href="#/start">Start a campaign</a> <${Act} class="plain" work=${async () => { await signOut(); location.reload() }}>Sign the admin out<//></p>
    <${Trouble} problem=${problem} onRetry=${again} />
    ${value && !items.length ? html`<p class="quiet">There is none yet.</p>` : null}
    <ul class="rows">${items.map(c => html`<li key=${c.id}><a class="go" href=${`#/c/${c.id}/table`}><strong>${c.name ?? c.id}</strong> <span class="quiet">${c.problem ?? `${c.system}, begun ${wallDate(c.created_at)}`}</span></a></li>`)}</ul>
    ${value?.next ? html`<p><button type="button" onClick=${more}>More campaigns</button></p>` : null}`
}

function SignIn() {
  const [text, setText] = useState('')
  const go = async () => {
    if (!text.trim()) throw new Error('Paste your link or token first.')
    const me = await signIn(tokenIn(text))
    location.hash = me.admin ? '#/start' : `#/c/${me.campaign}/join`
  }
  return html`<section class="card" aria-labelledby="sign-in"><h2 id="sign-in">Sign in</h2>
    <p>Players: scan the code or open the link that your game master shows you. Whoever runs the server: paste the admin token, which stands in the file <code>admin.token</code>.</p>
    <form onSubmit=${e => e.preventDefault()}><div class="field"><label for="token">Link or token</label>
      <input id="token" type="password" autocomplete="off" value=${text} onInput=${e => setText(e.target.value)} /></div>
      <${Act} submit class="main" work=${go}>Sign in<//></form></section>`
}

/** One form makes a campaign. */
export function Start() {
  const { value: list, problem, again } = useLoaded(systems, [])
  const [name, setName] = useState('')
  const [chosen, setChosen] = useState(null)
  const [options, setOptions] = useState({})
  const [overrides, setOverrides] = useState('shown')
  const [key] = useState(uuid)
  const [made, setMade] = useState(null)
  if (!admin()) return html`<h1>Start a campaign</h1><p>Campaigns are made by whoever runs the server.</p><${SignIn} />`
  if (made) return html`<${Begun} made=${made} name=${name} />`
  const newest = (list ?? []).filter(s => !list.some(t => t.system === s.system && t.edition > s.edition))
  const system = chosen ?? newest[0]?.system
  const create = async () => {
    if (!name.trim()) throw new Error('Give the campaign a name first.')
    const body = { name: name.trim(), system }
    if (Object.keys(options).length) body.options = options
    if (overrides !== 'shown') body.policy = { overrides }
    const campaign = await request('POST', '/v1/campaigns', { body, key })
    await signIn(campaign.gm.token)
    return campaign
  }
  return html`<h1>Start a campaign</h1>
    <p><a href="#/">Or open a campaign that is on this server</a></p>
    <${Trouble} problem=${problem} onRetry=${again} />
    <form class="stack" onSubmit=${e => e.preventDefault()}>
      <div class="field"><label for="name">Name</label><input id="name" maxlength="200" required autofocus value=${name} onInput=${e => setName(e.target.value)} /></div>
      <fieldset class="choices"><legend>Rules</legend>${newest.map(s => html`<label class="choice"><input type="radio" name="system" value=${s.system} checked=${s.system === system} onChange=${() => { setChosen(s.system); setOptions({}) }} />
        <span><strong>${s.title}</strong><span>${s.summary}</span><span class="quiet">${s.credit}</span></span></label>`)}</fieldset>
      ${system ? html`<${Options} system=${system} values=${options} onChange=${setOptions} />` : null}
      <div class="field"><label for="overrides">May the game master override a roll?</label>
        <select id="overrides" aria-describedby="overrides-hint" onChange=${e => setOverrides(e.target.value)}>${OVERRIDES.map(([v, text]) => html`<option value=${v} selected=${v === overrides}>${text}</option>`)}</select>
        <p class="hint" id="overrides-hint">The dice stay what they are; the ruling stands beside them. This is fixed for ever.</p></div>
      <div class="actions"><${Act} submit class="main" work=${create} onDone=${setMade}>Start the campaign<//></div>
    </form>`
}

const OVERRIDES = [['shown', 'Yes, and everybody sees it at once'], ['shown_later', 'Yes, sealed, and everybody sees it when the session closes'], ['none', 'No']]

/** Where the book can be read in two ways, the table chooses. */
function Options({ system, values, onChange }) {
  const { value, problem, again } = useLoaded(() => systemOf({ system }), [system])
  if (problem) return html`<${Trouble} problem=${problem} onRetry=${again} />`
  if (!value) return html`<${Waiting} what="the options" />`
  const changed = Object.keys(values).length
  const set = (o, v) => { const next = { ...values }; if (v === o.default || v === '') delete next[o.name]; else next[o.name] = v; onChange(next) }
  return html`<details class="group"><summary>Options: ${changed ? `${changed} changed` : 'all as the book is usually read'}</summary>
    <p class="hint">They stand for the whole campaign.</p>
    ${value.options.map(o => {
      const id = 'o-' + o.name
      return html`<div class="field"><label for=${id}>${label(o.name.replace(/^[^.]*\./, ''))}</label>
        ${o.values ? html`<select id=${id} aria-describedby=${id + '-d'} onChange=${e => set(o, e.target.value)}>${o.values.map(v => html`<option value=${v} selected=${v === (values[o.name] ?? o.default)}>${{ true: 'yes', false: 'no' }[v] ?? v.replace(/_/g, ' ')}${v === o.default ? ' (usual)' : ''}</option>`)}</select>`
          : html`<input id=${id} type="number" aria-describedby=${id + '-d'} min=${o.min ?? 0} max=${o.max} value=${values[o.name] ?? o.default} onInput=${e => set(o, e.target.value)} />`}
        <p class="hint" id=${id + '-d'}>${o.doc.replace(/\b(true|false):/g, (_, v) => ({ true: 'yes', false: 'no' })[v] + ':')} <span class="quiet">${o.rule}</span></p></div>`
    })}</details>`
}

function Begun({ made, name }) {
  const link = linkFor(made.gm.token)
  return html`<h1>${name} begins</h1>
    <p class="lead">You are its game master on this device. Invite your players now, or go to the table.</p>
    <p class="actions"><a class="button main" href=${`#/c/${made.campaign}/people`}>Invite players</a> <a class="button" href=${`#/c/${made.campaign}/table`}>To the table</a></p>
    <section class="card invite" aria-labelledby="own"><h2 id="own">Your own link</h2>
      <p>It makes another device the game master's. It is not shown again: keep it like a key.</p>
      <${QR} text=${link} label="Code with the game master's link" />
      <${Copy} text=${link} label="Link of the game master" /></section>`
}

/** The first thing a player sees behind their link. */
export function Join({ store }) {
  const me = store.me
  const sits = canSit(store) && seatsOpen(store)
  const seat = async () => { if (sits) await store.sit(); location.hash = `#/c/${store.id}/table` }
  const characters = [...store.characters.values()].filter(c => c.owner === me.handle)
  return html`<h1>Welcome to ${store.campaign.name}</h1>
    <p class="lead">You are <strong>${me.handle}</strong>, ${me.role === 'gm' ? 'the game master' : me.role}.${characters.length ? ` You play ${characters.map(c => c.name).join(' and ')}.` : ''}</p>
    ${me.role === 'spectator' ? null : html`<section class="card"><h2>What this device does for you</h2>
      <p>It keeps secrets of its own and mixes them into the dice. Then nobody can foresee your rolls, and nobody can choose the dice of the table alone, the host included. Everything this device does for that it does by itself.</p>
      <p>${seatWords(store, sits)}</p>
      ${lasting ? null : html`<p class="notice">This browser window keeps nothing: when you close it, the device's secrets are gone and you take another seat.</p>`}</section>`}
    <div class="actions"><${Act} class="main large" work=${seat}>${sits ? 'Join and take my seat' : 'Join the table'}<//></div>`
}

/** Whether this device has its seat already, or when it gets one. */
function seatWords(store, sits) {
  if (store.device) return 'It has its seat in this session.'
  if (sits) return 'The seats are open: it takes yours now.'
  if (canSit(store)) return 'The dice of this session are fixed already. It can still take part until your first roll: see the table.'
  return store.session ? 'The dice of this session are fixed without it. It takes your seat in the next one.' : 'It takes your seat when a session opens.'
}
