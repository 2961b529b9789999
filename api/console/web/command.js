// Giving a command: a form made from its schema, one key for one tap, and what it came to.
import { html, useEffect, useMemo, useRef, useState } from './html.js'
import { visibilitiesOnBoard } from './api.js'
import { complete, errorsByPath, Fields, namesCharacter, People, resolve, suggestions } from './form.js'
import { Copy, Dialog, Progress, useLoaded, useOnce } from './ui.js'
import { count, duration, gameTime, label, ownDraws, reckoning } from './words.js'

/** Commands that never throw dice: no dice are typed in with them. */
const NO_DICE = /^(participant|link|session|seat|seating|setting|note|dispute|ruling|correction|target|tempo|character|clock|heal)\.|^roll\./

/** Who acts in a command: whoever was chosen at the table is not asked for again. */
const ACTOR = { attack: 'attacker', check: 'character' }

/** What was filled in last, by command type, so that the second blow needs fewer taps than the first. */
const drafts = new Map()

/** Values to begin a form with. */
function begin(store, spec, preset) {
  const last = drafts.get(store.id + spec.type) ?? {}
  const schema = resolve(spec.data, spec.data)
  const value = { ...last, ...preset }
  for (const [name, s] of Object.entries(schema.properties ?? {})) {
    const member = resolve(s, spec.data)
    if (namesCharacter(name, member) && value[name] && !store.characters.has(value[name])) delete value[name]
    if (['attacker', 'character'].includes(name) && !value[name] && store.mine.length === 1) value[name] = store.mine[0].id
  }
  if (spec.type === 'character.create') Object.assign(value, { kind: value.kind ?? (store.gm ? 'npc' : 'pc'), creation: value.creation ?? 'free', sheet: value.sheet ?? structuredClone(store.system.example) })
  if (spec.type === 'character.amend' && value.character) value.sheet = structuredClone(store.characters.get(value.character)?.sheet)
  if (spec.type === 'session.open') Object.assign(value, { kind: value.kind ?? 'table' })
  return value
}

/**
 * A window with the form of a command, and then with what it came to.
 * @param {{store: import('./store.js').Store, type: string, preset?: object, onClose: () => void}} props
 */
export function CommandDialog({ store, type, preset, onClose }) {
  const spec = store.command(type)
  const [answer, setAnswer] = useState(null)
  const [round, setRound] = useState(0)
  if (!spec) return null
  const actor = store.characters.get(preset?.[ACTOR[type]])
  return html`<${Dialog} title=${actor ? `${spec.title}: ${actor.name}` : spec.title} onClose=${onClose}>
    ${answer ? html`<${Outcome} store=${store} answer=${answer} onClose=${onClose} onAgain=${/^(session|participant|seating|character)\./.test(type) ? null : () => { setAnswer(null); setRound(round + 1) }} />`
      : html`<${CommandForm} key=${round} store=${store} spec=${spec} preset=${preset} onDone=${setAnswer} />`}
  <//>`
}

export function CommandForm({ store, spec, preset, onDone }) {
  const kept = useMemo(() => unsent(store, spec, preset), [])
  const [value, setValue] = useState(() => ({ ...begin(store, spec, preset), ...kept.value }))
  const [hand, setHand] = useState(kept.hand ?? null) // dice typed in, as text
  const [seen, setSeen] = useState(kept.seen ?? 'public')
  const root = spec.data, schema = resolve(root, root)
  const give = async options => {
    const command = { type: spec.type }
    const data = complete(root, root, value)
    if (data && Object.keys(data).length) command.data = data
    else if (Object.keys(schema.properties ?? {}).length === 0 || !schema.required?.length) command.data = {}
    if (hand !== null) command.dice = { faces: readFaces(hand) }
    if (Array.isArray(seen) && !seen.length) throw new Error('Choose who sees it, or let everybody see it.')
    if (seen !== 'public') command.visibility = seen
    return store.give(command, options)
  }
  const done = answer => {
    kept.forget()
    drafts.set(store.id + spec.type, spec.type.startsWith('character.') ? {} : keepable(value))
    if (answer.secret) store.secrets.set(answer.last, answer.secret)
    store.news = answer.records.map(store.tell).filter(t => !t.muted).slice(0, 2).map(t => t.text).join('. ')
    onDone(answer)
  }
  const { busy, wait, problem, run } = useOnce(give, done)
  const mine = useMemo(() => store.mine.map(c => c.id), [store.characters.size])
  const context = {
    characters: [...store.characters.values()].sort((a, b) => Number(mine.includes(b.id)) - Number(mine.includes(a.id))),
    participants: store.campaign.participants, sheet: store.system.sheet, errors: errorsByPath(problem),
    hidden: Object.keys(preset ?? {}).filter(k => k === ACTOR[spec.type] || given(schema, root, k)).map(k => 'data.' + k),
    suggest: suggestions([...store.characters.values()], value.sheet)
  }
  const form = useRef(null)
  useEffect(() => { form.current?.querySelector('[aria-invalid=true], .wrong input')?.focus() }, [problem])
  useEffect(() => kept.keep({ value, hand, seen }), [value, hand, seen])
  return html`<form class="stack" ref=${form} onSubmit=${e => { e.preventDefault(); run() }} novalidate=${false}>
    ${spec.doc ? html`<p class="hint">${spec.doc}</p>` : null}
    <${Fields} schema=${schema} root=${root} value=${value} onChange=${setValue} path="data" context=${context} />
    ${NO_DICE.test(spec.type) ? null : html`<${Hand} hand=${hand} onChange=${setHand} error=${Object.entries(context.errors).find(([p]) => p.startsWith('dice'))?.[1]} />`}
    ${MAY_BE_SECRET.test(spec.type) ? html`<${Seen} store=${store} value=${seen} onChange=${setSeen} />` : null}
    <${Progress} wait=${wait} problem=${problem} />
    <div class="actions end"><button type="submit" class="main large" aria-busy=${busy}>${busy ? 'One moment …' : spec.title}</button></div>
  </form>`
}

/**
 * What was typed into a form and not sent yet: a page that is loaded anew in the middle of it, or a window that was
 * closed by mistake, loses nothing. It stays in this tab, for whoever sits at it.
 */
function unsent(store, spec, preset) {
  const name = ['tallystick.unsent', store.id, store.me.handle, spec.type, JSON.stringify(preset ?? {})].join(' ')
  let before = {}
  try { before = JSON.parse(sessionStorage.getItem(name) ?? '{}') } catch { /* nothing that can be read */ }
  let first = true
  return {
    ...before,
    keep(now) { if (first) first = false; else sessionStorage.setItem(name, JSON.stringify(now)) }, // what nobody touched is no draft
    forget() { first = true; sessionStorage.removeItem(name) }
  }
}

/** Whether a member that was given beforehand is a number or an id that nobody wants to read. */
function given(schema, root, name) {
  const member = resolve(schema.properties?.[name], root)
  return ['roll', 'declared', 'dispute', 'command', 'ruling', 'target'].includes(name) && !member.enum && !namesCharacter(name, member)
}

/** Who sees a roll, as far as the server knows kinds of it. */
function Seen({ store, value, onChange }) {
  const [known, setKnown] = useState([])
  useEffect(() => { let gone = false; visibilitiesOnBoard().then(v => gone || setKnown(v)); return () => { gone = true } }, [])
  const choices = [['public', 'Everybody'], ['private', store.gm ? 'Only me, until I open it' : 'Only me and the game master'], ['blind', 'Only the game master']]
    .filter(([v]) => known.includes(v) && (store.gm ? v !== 'blind' : v === 'public' || known.includes('blind')))
  if (choices.length < 2) return null
  const some = Array.isArray(value)
  return html`<div class="field"><label for="seen">Who sees it</label><select id="seen" onChange=${e => onChange(e.target.value === 'some' ? [] : e.target.value)}>
      ${choices.map(([v, text]) => html`<option value=${v} selected=${v === value}>${text}</option>`)}<option value="some" selected=${some}>Only those I choose</option></select>
    ${some ? html`<${People} people=${store.campaign.participants.filter(p => p.handle !== store.me.handle && p.role !== 'gm')} value=${value} onChange=${onChange} legend="Those who see it" />` : null}</div>`
}

const MAY_BE_SECRET = /^(roll|check|contest)$/

/** Without what belongs to one time only. */
function keepable(value) {
  const { purpose, cause, reason, text, title, question, modifiers, target, ...rest } = value
  return typeof target === 'string' ? { ...rest, target } : rest
}

function readFaces(text) {
  const faces = text.split(/[\s,;+]+/).filter(Boolean).map(Number)
  if (!faces.length || faces.some(f => !Number.isInteger(f) || f < 1)) throw new Error('Type the faces as numbers, in the order the rules ask for them, such as 6 2.')
  return faces
}

/** Dice from the table in place of the ledger's. */
function Hand({ hand, onChange, error }) {
  const on = hand !== null
  return html`<div class=${'field hand' + (error ? ' wrong' : '')}>
    <label class="check"><input type="checkbox" checked=${on} onChange=${e => onChange(e.target.checked ? '' : null)} /> I throw real dice</label>
    ${on ? html`<label for="faces">Faces, in order</label><input id="faces" inputmode="numeric" autocomplete="off" placeholder="6 2" value=${hand} onInput=${e => onChange(e.target.value)} aria-describedby="faces-hint" />
      <p class="hint" id="faces-hint">If the rules need more dice than you typed, they say which.</p>${error ? html`<p class="error">${error}</p>` : null}` : null}
  </div>`
}

/** What a command came to: the roll large, then what followed. */
export function Outcome({ store, answer, onClose, onAgain }) {
  const records = answer.records
  const done = useRef(null)
  useEffect(() => { done.current?.focus() }, [])
  const sealed = records.find(r => r.type === 'roll.sealed')
  const ticks = records.filter(r => r.type === 'tick.processed')
  const advanced = records.find(r => r.type === 'clock.advanced' || r.type === 'clock.advancing')
  const rolls = ticks.length ? [] : records.filter(r => r.type === 'roll.made' || r.type === 'roll.resolved')
  const followed = records.filter(r => !rolls.includes(r) && !(ticks.length && ['roll.made', 'tick.processed'].includes(r.type)) && !/^seat|^seating/.test(r.type) && r !== advanced && r !== sealed)
  return html`<div class="outcome">
    ${sealed ? html`<${Sealed} store=${store} rec=${sealed} />` : null}
    ${rolls.map(r => html`<${BigRoll} store=${store} rec=${r} />`)}
    ${advanced ? html`<p class="big-words">It is ${gameTime(advanced.data.to)} now.</p>` : null}
    ${ticks.length ? html`<${Ticks} store=${store} ticks=${ticks} records=${records} />` : advanced ? html`<p>Nothing fell due in ${duration(advanced.data.to - advanced.data.from)}.</p>` : null}
    <ul class="told">${followed.map(r => { const t = store.tell(r); return html`<li class=${t.kind}>${t.text}</li>` })}</ul>
    ${records.filter(r => r.type === 'link.made').map(r => html`<${OneRollLink} store=${store} rec=${r} />`)}
    ${answer.repeated ? html`<p class="quiet">This had been done before; it was not done twice.</p>` : null}
    <div class="actions end">${onAgain ? html`<button type="button" onClick=${onAgain}>Again</button>` : null}<button type="button" class="main" ref=${done} onClick=${onClose}>Done</button></div>
  </div>`
}

/** A sealed roll: for whom it is, and what was rolled if one of them looks. */
export function Sealed({ store, rec }) {
  const content = store.secrets.get(rec.n)
  return html`<p class="notice">For ${store.circle(rec.data.visibility, rec.by)} only. The roll is sealed in record ${rec.n}: it cannot be changed, and everybody can check it once it is opened.</p>
    ${content ? html`<${BigRoll} store=${store} rec=${{ data: content }} />` : null}`
}

/** A link that rolls once: its address, for who made it and for a game master, and what became of it. */
export function OneRollLink({ store, rec }) {
  const { value: link } = useLoaded(async () => {
    for (let from = 0; from !== null;) {
      const page = await store.api.get(`/links?limit=1000&from=${from}`)
      const found = page.items.find(l => l.id === rec.data.link)
      if (found) return found
      from = page.next
    }
  }, [store.id, rec.data.link])
  if (!link) return null
  return html`${link.rolled ? html`<p><a href=${`#/c/${store.id}/roll/${link.roll}`}>What it rolled</a></p>` : html`<p class="notice">It waits. Whoever opens its address and presses the button there makes the roll, once, in the name of ${link.by}.</p>`}
    ${link.address ? html`<${Copy} text=${location.origin + link.address} label="Address of the link" />` : null}`
}

function BigRoll({ store, rec }) {
  const d = rec.data
  return html`<section class="big-roll">
    <p class="purpose">${d.character ? store.name(d.character) + ' · ' : ''}${label(d.purpose || d.expression)}</p>
    <p class="total">${d.total}</p>
    <p><${Dice} draws=${ownDraws(d)} /></p>
    ${reckoning(d, ownDraws(d)) === String(d.total) ? null : html`<p class="big-words">${reckoning(d, ownDraws(d))}</p>`}
    ${(d.also ?? []).map(a => html`<p class="also">${a.character ? store.name(a.character) + ', ' : ''}${a.purpose}: ${reckoning(a)}</p>`)}
    ${rec.n === undefined ? null : html`<p><a href=${`#/c/${store.id}/roll/${rec.n}`}>Why this result?</a></p>`}
  </section>`
}

const MANY = 40 // dice that one looks at one by one

/** Dice as they lie. */
export const Dice = ({ draws }) => html`<span class="dice">${draws.slice(0, MANY).map(([sides, face]) => html`<span class="die" title=${'d' + sides}><span class="visually-hidden">d${sides} shows </span>${face}<small aria-hidden="true">d${sides}</small></span>`)}
  ${draws.length > MANY ? html`<span class="quiet">and ${count(draws.length - MANY, 'die', 'dice')} more</span>` : null}</span>`

/** Everything that fell due, as one list. */
export function Ticks({ store, ticks, records = [] }) {
  const died = records.filter(r => r.type === 'character.died')
  return html`<section><h3>${count(ticks.length, 'check')} fell due</h3>
    ${died.map(r => html`<p class="died">${store.tell(r).text}</p>`)}
    <ul class="told ticks" tabindex="0" aria-label="Checks that fell due">${ticks.map(r => {
      const t = store.tell(r)
      const rolled = records.filter(x => x.type === 'roll.made' && x.n < r.n && x.data.character === r.data.character).at(-1)
      return html`<li class=${t.kind}><span class="quiet">${gameTime(r.data.due)}</span> ${t.text}${rolled && r.data.rolled ? html` <a href=${`#/c/${store.id}/roll/${rolled.n}`}>roll</a>` : null}</li>`
    })}</ul></section>`
}

/** What can be done about a record: its secret opened, put into question, taken back. */
export function Deeds({ store, rec, onDo }) {
  const d = rec.data ?? {}
  const opened = [...store.log.values()].some(r => /\.opened$/.test(r.type) && r.data.sealed === rec.n)
  const open = !opened && { 'roll.sealed': 'roll.open', 'target.sealed': 'target.open', 'ruling.sealed': 'ruling.open' }[rec.type]
  const mayOpen = open && store.may(open) && (store.gm || (rec.by === store.me.handle && d.visibility !== 'blind'))
  const member = { 'roll.open': 'roll', 'target.open': 'target', 'ruling.open': 'ruling' }[open]
  const button = (text, type, preset) => html`<button type="button" onClick=${() => onDo({ type, preset })}>${text}</button>`
  return html`<p class="actions">
    ${mayOpen ? button(open === 'roll.open' ? 'Open this secret roll' : 'Show it to everybody', open, { [member]: rec.n }) : null}
    ${mayOpen && open === 'roll.open' ? button('Show it to somebody', 'roll.widen', { roll: rec.n }) : null}
    ${store.may('dispute.open') && rec.n > 0 ? button('Dispute it', 'dispute.open', { roll: rec.n }) : null}
    ${store.may('correction.make') && rec.n > 0 ? button('Take it back', 'correction.make', { command: rec.cmd.id }) : null}</p>`
}
