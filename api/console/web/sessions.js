// Evenings of play: the list, and one played again step by step.
import { html, useEffect, useLayoutEffect, useState } from './html.js'
import { everyPage } from './api.js'
import { Act, Conditions, Health, Trouble, useLoaded, Waiting } from './ui.js'
import { count, gameTime, rankStep, tell, wallDate } from './words.js'

export function Sessions({ store }) {
  const { value, problem, again } = useLoaded(() => everyPage(store.api.get, '/sessions'), [store.id, store.campaign.session])
  if (problem) return html`<h1>Sessions</h1><${Trouble} problem=${problem} onRetry=${again} />`
  return html`<h1>Sessions</h1>${value ? null : html`<${Waiting} what="the sessions" />`}
    ${value?.length === 0 ? html`<p class="empty">No session was opened yet.</p>` : null}
    <ul class="rows">${value?.slice().reverse().map(s => html`<li><a class="go" href=${`#/c/${store.id}/session/${s.id}`}><strong>${s.title}</strong> <span class="quiet">${wallDate(s.opened.at)} · ${s.closed ? 'closed' : 'open'} · ${count(s.rolls, 'roll')}${s.typed_in ? `, ${s.typed_in} typed in` : ''} · ${count(s.records.last - s.records.first + 1, 'record')}</span></a></li>`)}</ul>`
}

/** Loads a session and folds it: a state of everybody after every command. */
async function load(store, id) {
  const session = await store.api.get(`/sessions/${id}`)
  const { first, last } = session.records
  const before = new Map((await everyPage(store.api.get, `/characters?at=${first}`)).map(c => [c.id, c]))
  const records = []
  for (let from = first; from !== null && from <= last;) {
    const page = await store.api.get(`/events?from=${from}&limit=1000`)
    records.push(...page.items.filter(r => r.n <= last))
    from = page.next
  }
  return { session, steps: fold(records, before) }
}

function fold(records, before) {
  const steps = []
  let state = before
  for (const rec of records) {
    let step = steps.at(-1)
    if (!step || step.command !== rec.cmd.id) {
      step = { command: rec.cmd.id, n: rec.n, by: rec.by, records: [], state, clock: rec.clock, at: rec.at, roll: null, death: false, changed: new Set() }
      steps.push(step)
    }
    step.records.push(rec)
    step.last = rec.n
    step.clock = rec.clock
    if ((rec.type === 'roll.made' || rec.type === 'roll.resolved') && step.roll === null) step.roll = rec.n
    if (rec.type === 'character.died') step.death = true
    const d = rec.data ?? {}
    if (!d.character || (rec.type !== 'character.created' && !state.has(d.character))) continue
    const old = rec.type === 'character.created' ? { id: d.character, name: d.name, conditions: [], kind: d.kind } : state.get(d.character)
    const next = { ...old, retired: old.retired || rec.type === 'character.retired' }
    if (d.after) Object.assign(next, { alive: d.after.alive, health: d.after.health, conditions: d.after.conditions ?? [], next_tick: d.after.next_tick, state: d.after.state })
    state = new Map(state).set(d.character, next)
    step.state = state
    step.changed.add(d.character)
  }
  return steps
}

const SPEEDS = [1, 2, 4, 16]

export function Replay({ store, argument: id, options }) {
  const { value, problem, again } = useLoaded(() => load(store, id), [store.id, id])
  if (problem) return html`<h1>Session</h1><${Trouble} problem=${problem} onRetry=${again} />`
  if (!value) return html`<h1>Session</h1><${Waiting} what="the session" />`
  return html`<${Player} store=${store} ...${value} from=${options.at} />`
}

function Player({ store, session, steps, from }) {
  const begin = from === undefined ? 0 : Math.max(0, steps.findIndex(s => s.last >= Number(from)))
  const [at, setAt] = useState(begin)
  const [speed, setSpeed] = useState(0) // 0: it stands still
  const [pace, setPace] = useState(2)
  const step = steps[at]
  const name = cid => step.state.get(cid)?.name ?? store.name(cid)
  const jump = k => setAt(Math.min(Math.max(k, 0), steps.length - 1))

  useEffect(() => {
    if (!speed) return
    const timer = setInterval(() => setAt(k => { if (k + 1 >= steps.length) { setSpeed(0); return k } return k + 1 }), 1600 / speed)
    return () => clearInterval(timer)
  }, [speed, steps])
  useEffect(() => {
    if (speed) return
    // The address follows where one stays: browsers let a page change it only so often.
    const timer = setTimeout(() => {
      if (location.hash.includes(`/session/${session.id}`)) history.replaceState(null, '', `#/c/${store.id}/session/${session.id}?at=${step.last}`)
    }, 150)
    return () => clearTimeout(timer)
  }, [at, speed])
  useLayoutEffect(() => { // before anybody can press one
    const key = e => {
      if (e.target.closest('input, select, textarea, button, a, dialog, [tabindex="0"]')) return
      if (e.key === 'ArrowRight') jump(at + 1)
      else if (e.key === 'ArrowLeft') jump(at - 1)
      else if (e.key === ' ') setSpeed(s => s ? 0 : pace)
      else return
      e.preventDefault()
    }
    document.addEventListener('keydown', key)
    return () => document.removeEventListener('keydown', key)
  }, [at, pace])

  const seek = (direction, test) => { for (let k = at + direction; k >= 0 && k < steps.length; k += direction) if (test(steps[k])) return jump(k) }
  const told = step.records.map(r => ({ rec: r, ...tell(r, name, store) })).filter((t, _, all) => !t.muted || all.every(o => o.muted))
  const party = [...step.state.values()].filter(c => !c.retired)
  return html`<div class="heading"><h1>${session.title}</h1><${Verify} store=${store} session=${session} /></div>
    <section class="card" aria-labelledby="moment"><h2 id="moment" class="visually-hidden">This moment</h2>
      <p class="quiet">${gameTime(step.clock)} · ${wallDate(step.at)} · by ${step.by}</p>
      <ul class="told moment" aria-live=${speed ? 'off' : 'polite'}>${told.slice(0, 12).map(t => html`<li class=${t.kind}>${t.text}${t.roll ? html` <a href=${`#/c/${store.id}/roll/${t.rec.n}`}>why?</a>` : null}</li>`)}${told.length > 12 ? html`<li class="quiet">and ${told.length - 12} more</li>` : null}</ul>
      ${step.roll !== null ? html`<p><a class="button" href=${`#/c/${store.id}/roll/${step.roll}?whatif=1`}>What if, from here?</a></p>` : null}</section>
    <ul class="party" role="list" aria-label="Everybody at this moment">${party.map(c => html`<li key=${c.id} class=${`card person step${rankStep(store.system.ranks, c.health?.rank)}${c.alive === false ? ' dead' : ''}${step.changed.has(c.id) ? ' chosen' : ''}`}>
      <p class="pick"><span class="person-name">${c.name}</span></p><${Health} ranks=${store.system.ranks} health=${c.health} /><${Conditions} conditions=${c.conditions} clock=${step.clock} /></li>`)}</ul>
    <section class="player" aria-label="Replay">
      <input type="range" min="0" max=${steps.length - 1} value=${at} aria-label="Step of the session" aria-valuetext=${`step ${at + 1} of ${steps.length}, ${told[0]?.text ?? ''}`} onInput=${e => { setSpeed(0); jump(Number(e.target.value)) }} />
      <div class="buttons">
        <button type="button" aria-label="Previous roll" title="Previous roll" onClick=${() => seek(-1, s => s.roll !== null)}>‹ roll</button>
        <button type="button" aria-label="Step back" title="Step back" onClick=${() => jump(at - 1)}>←</button>
        <button type="button" class="main" onClick=${() => { if (!speed && at + 1 >= steps.length) setAt(0); setSpeed(speed ? 0 : pace) }}>${speed ? 'Pause' : 'Play'}</button>
        <button type="button" aria-label="Step on" title="Step on" onClick=${() => jump(at + 1)}>→</button>
        <button type="button" aria-label="Next roll" title="Next roll" onClick=${() => seek(1, s => s.roll !== null)}>roll ›</button>
        ${steps.some(s => s.death) ? html`<button type="button" onClick=${() => { const k = steps.findIndex((s, i) => i > at && s.death); jump(k >= 0 ? k : steps.findIndex(s => s.death)) }}>Next death</button>` : null}
        <label class="visually-hidden" for="pace">Speed</label><select id="pace" value=${pace} onChange=${e => { const p = Number(e.target.value); setPace(p); if (speed) setSpeed(p) }}>${SPEEDS.map(s => html`<option value=${s} selected=${s === pace}>${s}×</option>`)}</select>
        <span class="quiet">${at + 1} of ${steps.length}</span>
      </div></section>`
}

/** Has the server decide every command again, and says whether it came out the same. */
function Verify({ store, session }) {
  const [verdict, setVerdict] = useState(null)
  const ask = () => store.api.get(`/sessions/${session.id}/replay`)
  if (verdict) {
    return verdict.identical ? html`<p class="good-text" role="status">✓ ${count(verdict.commands, 'command')} decided again: every record came out the same.</p>`
      : html`<p class="bad-text" role="alert">✗ ${verdict.divergence ? `Record ${verdict.divergence.n ?? ''} comes out differently.` : verdict.unusable?.reason ?? 'It could not be decided again.'}</p>`
  }
  return html`<${Act} work=${ask} onDone=${setVerdict}>Decide it again<//>`
}

