// The table: the party, the clock, what can be done, and what happens as it happens.
import { html, useMemo, useState } from './html.js'
import { canSit } from './seat.js'
import { CommandDialog, Deeds, OneRollLink, Outcome, Sealed } from './command.js'
import { Act, Conditions, Dialog, Health, Windowed } from './ui.js'
import { count, duration, gameTime, rankStep, until, wallDate, wallTime } from './words.js'

/** The common things, each one tap away; the rest stands behind "More". */
const COMMON = ['roll', 'check', 'attack', 'wound.inflict', 'wound.treat']
/** What is done elsewhere on these pages, or by the device itself. */
const ELSEWHERE = /^(seat|seating)\.|^participant\.|^session\.|^roll\.(witness|seal|pass|void|open|widen)$|^clock\.advance$|^(dispute|correction|ruling)\.|^target\.open$/

export function Table({ store }) {
  const [chosen, setChosen] = useState(null)
  const [doing, setDoing] = useState(null) // { type, preset }
  const party = [...store.characters.values()].filter(c => !c.retired)
  const actor = chosen && store.characters.get(chosen)
  const start = (type, preset = {}) => setDoing({ type, preset: { ...(actor ? forActor(type, actor) : {}), ...preset } })
  return html`<div class="table-page">
    <h1 class="visually-hidden">The table</h1>
    <div class="column">
      <${SessionBar} store=${store} onDo=${start} />
      <${Seats} store=${store} />
      <${Declared} store=${store} onDo=${start} />
      <section aria-labelledby="party"><div class="heading"><h2 id="party">Party</h2>
        ${store.may('character.create') ? html`<button type="button" onClick=${() => setDoing({ type: 'character.create' })}>New character</button>` : null}</div>
        ${party.length ? html`<ul class="party" role="list">${party.map(c => html`<${Card} key=${c.id} store=${store} character=${c} clock=${store.clock} chosen=${c.id === chosen} onChoose=${() => setChosen(c.id === chosen ? null : c.id)} />`)}</ul>`
          : html`<p class="empty">Nobody is here yet.${store.may('character.create') ? ' Create the first character.' : ' The game master creates the characters, or you make your own.'}</p>`}
      </section>
    </div>
    <div class="column side">
      <${Clock} store=${store} onDo=${start} />
      <${Log} store=${store} onDo=${start} />
    </div>
    <${Actions} store=${store} actor=${actor} onDo=${start} />
    ${doing ? html`<${CommandDialog} key=${doing.type} store=${store} ...${doing} onClose=${() => setDoing(null)} />` : null}
  </div>`
}

/** Whoever is chosen acts; who is wounded or treated is the one it happens to. */
function forActor(type, actor) {
  return type === 'attack' ? { attacker: actor.id } : { character: actor.id }
}

// ---------------------------------------------------------------- party

function Card({ store, character: c, clock, chosen, onChoose }) {
  const ranks = store.system.ranks
  return html`<li class=${`card person step${rankStep(ranks, c.health?.rank)}${c.alive ? '' : ' dead'}${chosen ? ' chosen' : ''}`}>
    <button type="button" class="pick" aria-pressed=${chosen} onClick=${onChoose}><span class="person-name">${c.name}</span>${chosen ? html` <span class="acts">acts</span>` : null}</button>
    <${Health} ranks=${ranks} health=${c.health} />
    <${Conditions} conditions=${c.conditions} clock=${clock} />
    <p class="foot">${c.next_tick && c.alive ? html`<span>next check (${c.next_tick.kind}) ${until(c.next_tick.due, clock)}</span>` : html`<span>${c.kind === 'pc' ? c.owner ?? 'player character' : 'game master'}</span>`}
      <a href=${`#/c/${store.id}/character/${c.id}`} aria-label=${'Sheet and story of ' + c.name}>sheet</a></p>
  </li>`
}

// ---------------------------------------------------------------- what can be done

function Actions({ store, actor, onDo }) {
  const [more, setMore] = useState(false)
  if (store.me?.admin || store.me?.role === 'spectator') return null
  const common = COMMON.filter(store.may)
  const others = store.system.commands.filter(c => store.may(c.type) && !common.includes(c.type) && !ELSEWHERE.test(c.type))
  const needs = store.session ? '' : 'Dice are thrown inside a session: open one first.'
  return html`<section class="action-bar" aria-labelledby="actions"><h2 id="actions" class="visually-hidden">Actions</h2>
    <p class="actor">${actor ? html`<strong>${actor.name}</strong> acts` : needs || 'Choose who acts, or just begin'}</p>
    <div class="buttons">${common.map(type => html`<button type="button" class="act" onClick=${() => onDo(type)}>${short(store.command(type))}</button>`)}
      <button type="button" class="act" aria-haspopup="dialog" onClick=${() => setMore(true)}>More</button></div>
    ${more ? html`<${Dialog} title="More" onClose=${() => setMore(false)}><ul class="rows menu">${others.map(c => html`<li><button type="button" class="go" onClick=${() => { setMore(false); onDo(c.type) }}><strong>${c.title}</strong> <span class="quiet">${c.doc}</span></button></li>`)}</ul><//>` : null}
  </section>`
}

const SHORT = { roll: 'Roll', check: 'Check', attack: 'Attack', 'wound.inflict': 'Wound', 'wound.treat': 'Treat' }
const short = command => SHORT[command.type] ?? command.title

// ---------------------------------------------------------------- session, seats, declared rolls

function SessionBar({ store, onDo }) {
  const s = store.session
  if (s) {
    return html`<section class="session-bar" aria-label="Session"><p><strong>${s.title}</strong> <span class="quiet">${s.kind === 'table' ? '' : s.kind + ', '}since ${wallTime(s.opened.at)}</span></p>
      ${store.may('session.close') ? html`<button type="button" onClick=${() => onDo('session.close')}>Close the session</button>` : null}</section>`
  }
  return html`<section class="card call"><h2>No session is open</h2>
    <p>Dice are thrown in a session. Before its first roll, all its rolls are fixed, and nobody has seen one.</p>
    ${store.may('session.open') ? html`<button type="button" class="main" onClick=${() => onDo('session.open', { title: nextTitle(store) })}>Open a session</button>` : html`<p class="quiet">The game master opens it.</p>`}</section>`
}

const nextTitle = store => `Session ${store.campaign.counts.sessions + 1}`

/** Who has a device at the table, and what is still to be done before the dice are fixed. */
function Seats({ store }) {
  const s = store.session
  if (!s) return null
  const waiting = s.lanes.filter(l => !l.joint)
  const devices = s.lanes.filter(l => l.x0 !== '-')
  const asked = store.seating?.ask.filter(a => !store.seating.revealed.has(a.lane)) ?? []
  const mine = canSit(store)
  const lost = store.lane && store.lane.c0 !== '-' && !store.device && store.me?.role !== 'spectator' && !store.me?.admin
  if (!waiting.length && !asked.length && mine) {
    return html`<details class="seats"><summary>Let this device take part in the dice</summary><p>With a seat of its own this device mixes its secrets into the dice. ${store.gm ? 'You then close the seats once more.' : 'The game master then closes the seats once more.'} It is possible until your first roll of the session.</p>
      <${Act} work=${options => store.sit(options)}>Take my seat<//></details>`
  }
  if (!waiting.length && !asked.length && !lost) {
    return devices.length ? html`<p class="seats quiet">The dice are fixed. Secrets came from the server and ${count(devices.length, 'device')}: ${[...new Set(devices.map(l => l.principal))].join(', ')}.</p>` : null
  }
  return html`<section class="card seats" aria-labelledby="seats"><h2 id="seats">${store.seating ? 'The seats are closed' : waiting.length ? 'Taking seats' : 'Your seat'}</h2>
    ${mine ? html`<p>Take your seat with this device, and nobody can foresee your rolls or choose the dice of the table without you.</p><${Act} class="main" work=${options => store.sit(options)}>Take my seat<//>` : null}
    ${lost ? html`<p>Your seat in this session belongs to another device, or to a browser that has forgotten it. Its secrets are needed for your rolls.</p><${Act} work=${options => store.sit({ lost: true, ...options })}>Take a new seat with this device<//>` : null}
    ${waiting.length && devices.length ? html`<p>With a device: ${devices.map(l => l.principal).join(', ')}.</p>` : null}
    ${asked.length ? html`<p>Waiting for the devices of ${asked.map(a => a.lane).join(', ')}. They answer by themselves when their page is open.</p>` : null}
    ${store.gm && !store.seating && waiting.length ? html`<${Act} work=${options => store.give({ type: 'seating.close', data: {} }, options)}>Everybody sits: close the seats<//>` : null}
    ${store.gm && asked.length ? html`<${Act} work=${options => store.give({ type: 'seating.seal', data: {} }, options)}>Go on without them<//><p class="hint">Their names are written down as missing.</p>` : null}
    ${!store.gm && !mine && !lost && !store.seating && waiting.length ? html`<p class="quiet">The game master closes the seats when everybody sits.</p>` : null}
  </section>`
}

function Declared({ store, onDo }) {
  const d = store.declared
  if (!d) return null
  return html`<section class="card call" aria-label="Declared roll"><p><strong>${d.lane}</strong> declares a roll: ${d.purpose}. The device of <strong>${d.witness.lane}</strong> witnesses it.</p>
    ${store.gm ? html`<p class="actions"><button type="button" onClick=${() => onDo('roll.pass', { declared: d.n })}>Ask somebody else</button><button type="button" onClick=${() => onDo('roll.void', { declared: d.n })}>Take it back</button></p>` : null}</section>`
}

// ---------------------------------------------------------------- clock

function Clock({ store, onDo }) {
  const [answer, setAnswer] = useState(null)
  const due = useMemo(() => [...store.characters.values()].filter(c => c.alive && !c.retired && c.next_tick).sort((a, b) => a.next_tick.due - b.next_tick.due), [store.characters, store.next])
  const round = Number(Object.entries(store.campaign.options ?? {}).find(([name]) => name.endsWith('round_seconds'))?.[1] ?? 3)
  const steps = [[round, '+ round'], [600, '+ 10 min'], [28800, '+ 8 h'], [86400, '+ day']]
  const pass = seconds => options => store.give({ type: 'clock.advance', data: { seconds } }, options)
  const done = a => { store.news = `It is ${gameTime(store.clock)}`; setAnswer(a) }
  return html`<section class="card clock" aria-labelledby="clock"><h2 id="clock" class="visually-hidden">Game time</h2>
    <p class="now"><span class="visually-hidden">Game time: </span>${gameTime(store.clock)}</p>
    ${store.campaign.date ? html`<p class="quiet">${store.campaign.date.text}</p>` : null}
    ${store.campaign.tempo ? html`<p class="quiet" role="status">${{ running: 'It follows the clock on the wall', paused: 'It is paused', held: 'It is held: somebody could die' }[store.campaign.tempo.state]}</p>` : null}
    ${store.campaign.advancing ? html`<p class="quiet" role="status">Time is passing, until ${gameTime(store.campaign.advancing.to)} …</p>` : null}
    ${store.may('clock.advance') ? html`<div class="buttons">${steps.map(([seconds, text]) => html`<${Act} work=${pass(seconds)} onDone=${done} label=${`${text}: let ${duration(seconds)} pass`}>${text}<//>`)}
      <button type="button" onClick=${() => onDo('clock.advance')}>custom</button></div>` : null}
    ${due.length ? html`<details class="due" open><summary>Next due</summary><ul class="told" tabindex=${due.length > 2 ? 0 : undefined} aria-label="Next due">${due.map(c => html`<li><span class="quiet">${until(c.next_tick.due, store.clock)}</span> ${c.name}, check of the ${c.next_tick.kind} <span class="quiet">(${c.health.rank})</span></li>`)}</ul></details>` : html`<p class="quiet">Nobody has a check ahead.</p>`}
    ${answer ? html`<${Dialog} title="Time has passed" onClose=${() => setAnswer(null)}><${Outcome} store=${store} answer=${answer} onClose=${() => setAnswer(null)} /><//>` : null}
  </section>`
}

// ---------------------------------------------------------------- log

const ROW = 62

function Log({ store, onDo }) {
  const [open, setOpen] = useState(null)
  const total = store.next
  const row = i => {
    const n = total - 1 - i, rec = store.log.get(n)
    if (!rec) { store.loadLog(n); return html`<li key=${n} class="row quiet" aria-setsize=${total} aria-posinset=${i + 1}>…</li>` }
    return html`<${LogRow} key=${n} store=${store} rec=${rec} edge=${n === store.since && n > 0} position=${i + 1} total=${total} onOpen=${() => setOpen(rec)} />`
  }
  return html`<section class="log" aria-labelledby="log"><div class="heading"><h2 id="log">What happened</h2>${store.may('note.add') ? html`<button type="button" onClick=${() => onDo('note.add')}>Add a note</button>` : null}</div>
    <${Windowed} total=${total} height=${ROW} row=${row} label=${`Events, the newest first, ${total} in all`} />
    ${open ? html`<${RecordDialog} store=${store} rec=${open} onClose=${() => setOpen(null)} />` : null}
  </section>`
}

function LogRow({ store, rec, edge, position, total, onOpen }) {
  const t = store.tell(rec)
  return html`<li class=${`row ${t.kind}${t.muted ? ' muted' : ''}${edge ? ' edge' : ''}`} aria-setsize=${total} aria-posinset=${position}>${edge ? html`<span class="since">live from here</span>` : null}
    <button type="button" onClick=${onOpen}><span class="when">${wallTime(rec.at)}</span><span class="text">${t.text}</span></button></li>`
}

/** One record: what it says, who did it, where to go from it, and how to take it back. */
export function RecordDialog({ store, rec, onClose }) {
  const [doing, setDoing] = useState(null)
  const roll = rec.type === 'roll.made' || rec.type === 'roll.resolved'
  if (doing) return html`<${CommandDialog} store=${store} ...${doing} onClose=${onClose} />`
  return html`<${Dialog} title=${`Record ${rec.n}`} onClose=${onClose}>
    <p class="big-words">${store.tell(rec).text}</p>
    <dl class="facts"><dt>By</dt><dd>${rec.by}</dd><dt>Game time</dt><dd>${gameTime(rec.clock)}</dd><dt>At</dt><dd>${wallDate(rec.at)}</dd></dl>
    ${roll ? html`<p><a class="button main" href=${`#/c/${store.id}/roll/${rec.n}`}>Why this result?</a></p>` : null}
    ${roll ? null : html`<p><a href=${`#/c/${store.id}/record/${rec.n}`}>Check this record on this device</a></p>`}
    ${rec.data?.character && store.characters.has(rec.data.character) ? html`<p><a href=${`#/c/${store.id}/character/${rec.data.character}`}>To ${store.name(rec.data.character)}</a></p>` : null}
    ${rec.type === 'roll.sealed' ? html`<${Sealed} store=${store} rec=${rec} />` : null}
    ${rec.type === 'link.made' ? html`<${OneRollLink} store=${store} rec=${rec} />` : null}
    <${Deeds} store=${store} rec=${rec} onDo=${setDoing} />
    <details><summary>The record as it is stored</summary><pre tabindex="0">${JSON.stringify(rec, null, 1)}</pre></details>
  <//>`
}
