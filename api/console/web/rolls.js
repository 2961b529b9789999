// Rolls: the list, and one of them explained and checked without trusting anybody.
import { html, useEffect, useRef, useState } from './html.js'
import { everyPage, Problem } from './api.js'
import { CommandDialog, Deeds, Dice, OneRollLink, Sealed } from './command.js'
import { checkRoll } from './dicecheck.js'
import { keptCheckpoint } from './proof.js'
import { native } from './subtle.js'
import { Act, Trouble, useLoaded, usePaced, Waiting, Windowed } from './ui.js'
import { capital, count, gameTime, label, ownDraws, reckoning, rollSentence, signed, wallDate, wallTime } from './words.js'

export function Rolls({ store }) {
  const { value: sessions, problem, again } = useLoaded(() => everyPage(store.api.get, '/sessions'), [store.id, store.campaign.session])
  const [chosen, setChosen] = useState(null)
  const session = chosen ?? sessions?.at(-1)?.id
  return html`<div class="heading"><h1>Rolls</h1>
      ${sessions?.length ? html`<label class="visually-hidden" for="session">Session</label><select id="session" class="narrow" onChange=${e => setChosen(e.target.value)}>${sessions.slice().reverse().map(s => html`<option value=${s.id} selected=${s.id === session}>${s.title}</option>`)}</select>` : null}</div>
    <p>Every roll can be asked why, and checked on this device.</p>
    <${WholeLedger} store=${store} />
    <${Secrets} store=${store} />
    <${Trouble} problem=${problem} onRetry=${again} />
    ${sessions && !session ? html`<p class="empty">There are no rolls yet.</p>` : session ? html`<${RollList} key=${session} store=${store} session=${session} />` : problem ? null : html`<${Waiting} what="the rolls" />`}`
}

/** What is sealed and one may see all the same, as long as it is not opened. */
function Secrets({ store }) {
  const { value } = useLoaded(() => everyPage(store.api.get, '/secrets'), [store.id, usePaced(store.secrets.size + store.rolled)])
  const mine = value?.filter(s => s.kind === 'roll' && s.content) ?? []
  if (!mine.length) return null
  return html`<section class="card" aria-labelledby="secrets"><h2 id="secrets">For you, and not for everybody</h2>
    <ul class="rows">${mine.reverse().map(s => html`<li key=${s.n}><a class="go" href=${`#/c/${store.id}/record/${s.n}`}>${rollSentence(s.content, store.name)} <span class="quiet">${s.by}, for ${store.circle(s.visibility, s.by)} only</span></a></li>`)}</ul></section>`
}

/** The rolls of a session; those that are made while one looks are added. */
function RollList({ store, session }) {
  const list = useRef([])
  const { value, problem, again } = useLoaded(async () => {
    const from = (list.current.at(-1)?.n ?? -1) + 1
    const fresh = await everyPage(store.api.get, `/rolls?session=${session}`, 1000, from)
    return list.current = [...list.current, ...fresh.filter(r => r.n >= from)]
  }, [session, usePaced(store.rolled)])
  const rolls = value ?? list.current
  if (problem && !rolls.length) return html`<${Trouble} problem=${problem} onRetry=${again} />`
  if (!value && !rolls.length) return html`<${Waiting} what="the rolls" />`
  if (!rolls.length) return html`<p class="empty">Nothing was rolled in this session.</p>`
  const row = i => {
    const r = rolls[rolls.length - 1 - i]
    const struck = r.corrected_by || r.undone_by
    const text = rollSentence(r.roll, store.name)
    return html`<li class="row roll" key=${r.n} aria-setsize=${rolls.length} aria-posinset=${i + 1}><a href=${`#/c/${store.id}/roll/${r.n}`}><span class="when">${wallTime(r.at)}</span><span class="text">${struck ? html`<s>${text}</s>` : text} <span class="quiet">${r.by}${r.roll.source === 'physical' ? ', typed in' : ''}</span></span></a></li>`
  }
  return html`<${Windowed} total=${rolls.length} height=${62} row=${row} label=${`Rolls, the newest first, ${rolls.length} in all`} class="tall" />`
}

/** Checks the whole ledger with the program that anybody can run from a file. */
function WholeLedger({ store }) {
  const [result, setResult] = useState(null)
  const check = async () => {
    const { verify } = await import('./verify.js')
    const kept = await keptCheckpoint(store.id)
    const text = await store.api.get('/ledger', { accept: 'application/x-ndjson', text: true })
    const checkpoints = kept ? [{ name: 'of this device', text: kept.text }] : []
    try {
      return { good: true, ...await verify(text, { checkpoints, vkey: store.campaign.vkey, me: store.me?.handle }) }
    } catch (error) {
      return { good: false, notes: [error.message] }
    }
  }
  return html`<section class="card" aria-labelledby="whole"><h2 id="whole">The whole ledger</h2>
    <p>This device reads every record from the first on, and computes every die, chain, seed and seal again.${store.kept ? ` It keeps the seal of the first ${store.kept.size} records.` : ''}</p>
    <div class="actions"><${Act} work=${check} onDone=${setResult}>Check everything now<//></div>
    ${result ? html`<div role="status"><p class=${'verdict ' + (result.good ? 'good-text' : 'bad-text')}>${result.good ? `✓ All ${result.records} records are good.` : '✗ Something is wrong.'}</p>
      <pre tabindex="0" aria-label="What was checked">${result.notes.join('\n')}</pre></div>` : null}</section>`
}

// ---------------------------------------------------------------- one roll

export function Audit(props) {
  return /^\d{1,15}$/.test(props.argument ?? '') ? html`<${Roll} ...${props} />` : html`<${RecordPage} ...${props} />`
}

function Roll({ store, argument, options }) {
  const n = Number(argument)
  const { value: roll, problem, again } = useLoaded(() => store.api.get(`/rolls/${n}`), [store.id, n])
  const { value: audit } = useLoaded(() => store.api.get(`/rolls/${n}/audit`).catch(() => null), [store.id, n])
  const { value: rec } = useLoaded(() => store.api.get(`/events?from=${n}&limit=1`).then(p => p.items[0]), [store.id, n])
  const [doing, setDoing] = useState(null)
  if (problem instanceof Problem && problem.status === 404) return html`<${RecordPage} store=${store} argument=${argument} />`
  if (problem) return html`<h1>Roll</h1><${Trouble} problem=${problem} onRetry=${again} />`
  if (!roll) return html`<h1>Roll</h1><${Waiting} what="the roll" />`
  const d = roll.roll
  const throws = audit?.throws?.length ? audit.throws : [d, ...(d.also ?? [])].map((t, i) => ({ ...t, dice: (i ? t.draws : ownDraws(d)).map(([sides, face]) => ({ sides, face })) }))
  return html`<h1>${capital(d.purpose || d.expression)}</h1>
    <p class="lead">${audit?.sentence ?? rollSentence(d, store.name)}</p>
    <p class="quiet">Rolled by ${roll.by}, ${gameTime(roll.clock)}, ${wallDate(roll.at)}. Record ${roll.n}. ${audit?.proof?.sentence ?? ''}</p>
    <${Marks} store=${store} roll=${roll} />
    ${throws.map(t => html`<${Throw} store=${store} t=${t} />`)}
    ${audit?.caused?.length ? html`<section class="card"><h2>What came of it</h2><ul class="told">${audit.caused.map(e => html`<li><a href=${`#/c/${store.id}/record/${e.n}`}>${e.text}</a>${e.rule ? html` <span class="quiet">${e.rule}${e.title ? ', ' + e.title : ''}</span>` : null}</li>`)}</ul></section>` : null}
    ${audit?.later?.length ? html`<section class="card"><h2>Said of it since</h2><ul class="told">${audit.later.map(e => html`<li><a href=${`#/c/${store.id}/record/${e.n}`}>${e.text}</a></li>`)}</ul></section>` : null}
    <${Check} key=${n} store=${store} n=${n} />
    <p class="actions">${store.may('dispute.open') ? html`<button type="button" onClick=${() => setDoing({ type: 'dispute.open', preset: { roll: n } })}>Dispute this roll</button>` : null}
      ${store.may('ruling.make') ? html`<button type="button" onClick=${() => setDoing({ type: 'ruling.make', preset: { roll: n } })}>Override its outcome</button>` : null}
      ${store.may('correction.make') && rec && !roll.corrected_by ? html`<button type="button" onClick=${() => setDoing({ type: 'correction.make', preset: { command: rec.cmd.id } })}>Take it back</button>` : null}
      <a class="button" href=${`#/c/${store.id}/session/${roll.session}?at=${n}`}>Show the moment</a></p>
    <${WhatIf} store=${store} n=${n} roll=${d} open=${options.whatif} />
    ${doing ? html`<${CommandDialog} store=${store} ...${doing} onClose=${() => { setDoing(null); again() }} />` : null}`
}

/** What became of a roll since. */
function Marks({ roll }) {
  const overrides = roll.overrides ?? []
  if (!roll.corrected_by && !roll.undone_by && !roll.questioned_by?.length && !overrides.length) return null
  return html`<div class="notice">${roll.corrected_by ? html`<p><strong>Taken back.</strong> The roll stays visible, and what followed from it is undone.</p>` : null}
    ${roll.undone_by && !roll.corrected_by ? html`<p><strong>Undone</strong> with the command it followed from.</p>` : null}
    ${roll.questioned_by?.length ? html`<p><strong>To be looked at again:</strong> something it was made under was taken back. It stands as it is.</p>` : null}
    ${overrides.map(o => html`<p><strong>The game master's word:</strong> ${o.sealed && !o.reason ? 'sealed, and shown later' : `${o.outcome ? o.outcome + '. ' : ''}${o.reason}`}</p>`)}</div>`
}

/** One question to the dice: what lay on the table, and every number that was added. */
function Throw({ store, t }) {
  const modifiers = t.modifiers ?? [], dice = t.dice.map(d => [d.sides, d.face])
  return html`<section class="card"><h2>${t.character ? (t.name ?? store.name(t.character)) + ': ' : ''}${t.purpose || t.expression}</h2>
    <p><${Dice} draws=${dice} /></p>
    <p class="big-words">${t.draws ? reckoning(t, dice) : t.sentence ?? reckoning(t, dice)}</p>
    ${modifiers.length ? html`<${Numbers} store=${store} what="Modifier" of=${t.purpose || t.expression} list=${modifiers} />` : html`<p class="quiet">Nothing was added to the dice.</p>`}
    ${t.damage?.length ? html`<${Numbers} store=${store} what="Damage" of=${t.purpose || t.expression} list=${t.damage} />` : null}
  </section>`
}

/** Numbers that went into a roll or its damage, each with its rule and the records it comes from. */
function Numbers({ store, what, of, list }) {
  const title = id => store.system.rules.find(r => r.id === id)?.title
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${`${what}: ${of}`}><table><thead><tr><th scope="col">${what}</th><th scope="col" class="number">Value</th><th scope="col">Why</th></tr></thead><tbody>${list.map(m => html`<tr><td>${m.label}</td><td class="number">${signed(m.value)}</td>
    <td>${m.rule}${m.title ?? title(m.rule) ? ', ' + (m.title ?? title(m.rule)) : ''}${(m.from ?? []).map(f => html`<br /><a href=${`#/c/${store.id}/record/${f.n}`}>${f.text}</a>`)}</td></tr>`)}</tbody></table></div>`
}

/** The check, step by step, on this device. */
function Check({ store, n }) {
  const [steps, setSteps] = useState([])
  const [done, setDone] = useState(false)
  const [problem, setProblem] = useState(null)
  const run = useRef(0)
  const start = async () => {
    const mine = ++run.current
    setSteps([])
    setDone(false)
    setProblem(null)
    try {
      await store.seen().catch(() => {})
      for await (const step of checkRoll(store.id, n)) if (run.current === mine) setSteps(s => [...s, step])
      if (run.current === mine) setDone(true)
    } catch (error) {
      if (run.current === mine) setProblem(error)
    }
  }
  useEffect(() => { start(); return () => { run.current++ } }, [n])
  const bad = steps.some(s => s.good === false), open = steps.some(s => s.good === null)
  return html`<section class="card" aria-labelledby="check"><h2 id="check">Checked on this device</h2>
    <p class=${'verdict ' + (bad ? 'bad-text' : done && !open ? 'good-text' : '')} role="status">${!done ? 'Checking …' : bad ? '✗ This roll is not as it must be.' : open ? 'What can be checked is good.' : '✓ Everything fits.'}</p>
    <ol class="steps">${steps.map(s => html`<li class=${s.good ? 'good' : s.good === false ? 'bad' : ''}><span class="sign" aria-hidden="true">${s.good ? '✓' : s.good === false ? '✗' : '–'}</span>
      <div><h3>${s.title} <span class="visually-hidden">${s.good ? 'good' : s.good === false ? 'wrong' : 'not checked'}</span></h3><p>${s.text}</p>
      ${s.detail ? html`<details><summary>The numbers</summary><pre tabindex="0">${s.detail.join('\n')}</pre></details>` : null}</div></li>`)}</ol>
    <${Trouble} problem=${problem} onRetry=${start} />
    ${native ? null : html`<p class="hint">This page came over an address that is not secure, so the browser lends it no cryptography: the hashes are computed by the page itself, and signatures are not checked.</p>`}
    <p class="hint">Computed with SHA-256 and HMAC from the records alone. The server's word is not needed for it; the page is, so whoever does not trust the page uses the scripts of docs/verify.</p></section>`
}

// ---------------------------------------------------------------- what if

function WhatIf({ store, n, roll, open }) {
  const [name, setName] = useState('a different circumstance')
  const [value, setValue] = useState('')
  const [faces, setFaces] = useState('')
  const [result, setResult] = useState(null)
  const ask = async () => {
    const body = {}
    if (value !== '' && Number(value) !== 0) body.modifiers = [{ label: name || 'a different circumstance', value: Number(value) }]
    const dice = faces.split(/[\s,;]+/).filter(Boolean).map(Number)
    if (dice.some(f => !Number.isInteger(f) || f < 1)) throw new Error('Type the faces as numbers, such as 6 2.')
    if (dice.length) body.dice = dice
    if (!Object.keys(body).length) throw new Error('Say what should be otherwise: a modifier, or other dice.')
    return store.api.post(`/rolls/${n}/what-if`, body)
  }
  return html`<details class="card group" open=${Boolean(open)}><summary>What if it had been otherwise?</summary>
    <p class="hint">The rules decide it again with your change and carry the evening on for a while. It never happened, and nothing of it is stored.</p>
    <form onSubmit=${e => e.preventDefault()}><div class="entry"><div class="field"><label for="wi-label">A modifier for</label><input id="wi-label" maxlength="200" value=${name} onInput=${e => setName(e.target.value)} /></div>
      <div class="field"><label for="wi-value">of</label><input id="wi-value" type="number" min="-100" max="100" value=${value} onInput=${e => setValue(e.target.value)} /></div><span></span></div>
    <div class="field"><label for="wi-faces">Other dice <span class="quiet">optional</span></label><input id="wi-faces" inputmode="numeric" autocomplete="off" placeholder=${roll.draws.map(([, f]) => f).slice(0, 4).join(' ')} value=${faces} onInput=${e => setFaces(e.target.value)} /></div>
    <div class="actions"><${Act} submit class="main" work=${ask} onDone=${setResult}>Show both lines<//></div></form>
    ${result ? html`<${TwoLines} store=${store} result=${result} />` : null}</details>`
}

function TwoLines({ store, result }) {
  const said = events => events.length ? html`<ul class="told">${events.map(e => html`<li>${e.text || store.tell({ ...e, by: '' }).text}</li>`)}</ul>` : html`<p class="quiet">Nothing.</p>`
  return html`<div role="status"><h3>${result.part_at === undefined || result.part_at === null ? 'The lines never part: it would have come to the same.' : `The lines part at record ${result.part_at}.`}</h3>
    ${result.steps.filter(s => !s.same).slice(0, 12).map(s => html`<section class="pair two-lines"><div><h4>As it happened</h4>${said(s.recorded)}</div><div><h4>Otherwise</h4>${s.refused ? html`<p>The rules say no: ${s.refused}</p>` : said(s.otherwise)}</div></section>`)}
    ${result.characters.length ? html`<h3>In the end</h3><div class="scroll" tabindex="0" role="region" aria-label="How everybody stands in the end"><table><thead><tr><th scope="col">Who</th><th scope="col">As it happened</th><th scope="col">Otherwise</th></tr></thead><tbody>${result.characters.map(c => html`<tr><th scope="row">${c.name}</th><td>${stands(c.recorded)}</td><td>${stands(c.otherwise)}</td></tr>`)}</tbody></table></div>` : null}
    <p class="quiet">${count(result.steps.length, 'command')} carried on.</p></div>`
}

const stands = v => v ? `${v.alive ? '' : 'dead, '}${v.health.points} of ${v.health.max}, ${v.health.rank}${v.conditions?.length ? '; ' + v.conditions.map(c => c.name).join(', ') : ''}` : 'not in the story'

// ---------------------------------------------------------------- any record

/** A record by its number, for links to any moment. */
export function RecordPage({ store, argument }) {
  const n = Number(argument)
  const there = /^\d{1,15}$/.test(argument ?? '') && n < store.next
  const { value: rec, problem, again } = useLoaded(async () => there ? (await store.api.get(`/events?from=${n}&limit=1`)).items[0] : null, [store.id, n, there])
  const [doing, setDoing] = useState(null)
  if (problem) return html`<h1>Record ${argument}</h1><${Trouble} problem=${problem} onRetry=${again} />`
  if (rec === null) return html`<h1>No such record</h1><p>The ledger of this campaign has ${count(store.next, 'record')}, from 0 on. <a href=${`#/c/${store.id}/table`}>Back to the table</a></p>`
  if (!rec) return html`<h1>Record ${argument}</h1><${Waiting} what="the record" />`
  return html`<h1>Record ${n}</h1>
    <p class="lead">${store.tell(rec).text}</p>
    <dl class="facts"><dt>By</dt><dd>${rec.by}</dd><dt>Game time</dt><dd>${gameTime(rec.clock)}</dd><dt>At</dt><dd>${wallDate(rec.at)}</dd><dt>Kind</dt><dd>${label(rec.type)}</dd></dl>
    ${rec.type === 'roll.sealed' ? html`<${Sealed} store=${store} rec=${rec} />` : null}
    ${rec.type === 'link.made' ? html`<${OneRollLink} store=${store} rec=${rec} />` : null}
    <p class="actions">${n > 0 ? html`<a class="button" href=${`#/c/${store.id}/record/${n - 1}`}>Before it</a>` : null}${n + 1 < store.next ? html`<a class="button" href=${`#/c/${store.id}/record/${n + 1}`}>After it</a>` : null}</p>
    <${Deeds} store=${store} rec=${rec} onDo=${setDoing} />
    <${Check} key=${n} store=${store} n=${n} />
    <details><summary>The record as it is stored</summary><pre tabindex="0">${JSON.stringify(rec, null, 1)}</pre></details>
    ${doing ? html`<${CommandDialog} store=${store} ...${doing} onClose=${() => setDoing(null)} />` : null}`
}
