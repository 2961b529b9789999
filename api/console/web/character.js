// One character: how it stands, its sheet, its wounds, its story as a chart over game time, and what time will do.
import { html, useEffect, useRef, useState } from './html.js'
import { Problem } from './api.js'
import { CommandDialog } from './command.js'
import { Conditions, Health, Trouble, useLoaded, usePaced, Waiting, Windowed } from './ui.js'
import { capital, count, duration, gameTime, label, rankStep, signed, until } from './words.js'

export function Character({ store, argument: id }) {
  const c = store.characters.get(id)
  const [doing, setDoing] = useState(null)
  if (!c) return html`<h1>Nobody</h1><p>There is no such character in this campaign. <a href=${`#/c/${store.id}/table`}>Back to the table</a></p>`
  const may = type => store.may(type) && !c.retired && (store.gm || c.owner === store.me?.handle)
  return html`<div class="heading"><h1>${c.name}</h1>
      ${may('wound.treat') && c.alive ? html`<button type="button" onClick=${() => setDoing({ type: 'wound.treat', preset: { character: id } })}>Treat</button>` : null}
      ${may('character.amend') && c.alive ? html`<button type="button" onClick=${() => setDoing({ type: 'character.amend', preset: { character: id } })}>Change the sheet</button>` : null}
      ${may('character.retire') ? html`<button type="button" onClick=${() => setDoing({ type: 'character.retire', preset: { character: id } })}>Retire</button>` : null}</div>
    <div class="two"><div>
      <section class=${'card person step' + rankStep(store.system.ranks, c.health?.rank)}><h2 class="visually-hidden">Health</h2>
        <${Health} ranks=${store.system.ranks} health=${c.health} /><${Conditions} conditions=${c.conditions} clock=${store.clock} />
        <p class="quiet">${c.alive ? c.next_tick ? `Next check (${c.next_tick.kind}) ${until(c.next_tick.due, store.clock)}, on ${gameTime(c.next_tick.due)}.` : 'No check ahead.' : 'Dead.'} ${c.kind === 'pc' ? `Played by ${c.owner ?? 'nobody'}.` : 'Played by the game master.'}${c.retired ? ' Retired.' : ''}</p></section>
      <${Story} store=${store} id=${id} />
      <${Outlook} store=${store} id=${id} alive=${c.alive} />
    </div><div><section class="card"><h2>Sheet</h2><${Sheet} value=${c.sheet} /></section></div></div>
    ${doing ? html`<${CommandDialog} store=${store} ...${doing} onClose=${() => setDoing(null)} />` : null}`
}

/** A sheet as lists of names and values, whatever its rules call them. */
function Sheet({ value }) {
  if (value === null || value === undefined || value === '') return html`<span class="quiet">—</span>`
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value !== 'object') return String(value)
  if (Array.isArray(value)) {
    if (!value.length) return html`<span class="quiet">none</span>`
    return html`<ul class="plain-list">${value.map(v => html`<li><${Sheet} value=${v} /></li>`)}</ul>`
  }
  const entries = Object.entries(value).filter(([, v]) => !(v && typeof v === 'object' && Object.keys(v).length === 0))
  if (!entries.length) return html`<span class="quiet">none</span>`
  const simple = entries.every(([, v]) => typeof v !== 'object')
  return html`<dl class=${simple ? 'sheet simple' : 'sheet'}>${entries.map(([k, v]) => html`<div><dt>${label(k)}</dt><dd><${Sheet} value=${v} /></dd></div>`)}</dl>`
}

// ---------------------------------------------------------------- story

async function wholeTimeline(store, id) {
  const items = []
  let wounds = []
  for (let from = 0; from !== null;) {
    const page = await store.api.get(`/characters/${id}/timeline?from=${from}&limit=1000`)
    items.push(...page.items)
    wounds = page.wounds
    from = page.next
  }
  return { items, wounds }
}

const WHAT = {
  'character.created': () => 'enters the story', 'character.amended': i => `sheet changes: ${i.cause}`, 'character.retired': i => `leaves: ${i.cause}`, 'character.died': i => `dies: ${i.cause}`,
  'wound.inflicted': i => `wounded: ${i.cause}`, 'wound.treated': i => `treated: ${i.outcome}`, 'heal.granted': i => `heals: ${i.cause}`,
  'tick.processed': i => `check of the ${i.kind}`, 'condition.gained': i => `is ${i.condition}`, 'condition.ended': i => `no longer ${i.condition}`
}

function Story({ store, id }) {
  const seen = usePaced(store.characters.get(id)?.as_of)
  const { value, problem, again } = useLoaded(() => wholeTimeline(store, id), [id, seen])
  const last = useRef(null)
  if (value) last.current = value
  const story = last.current
  if (problem && !story) return html`<${Trouble} problem=${problem} onRetry=${again} />`
  if (!story) return html`<${Waiting} what="the story" />`
  const { items, wounds } = story
  const row = k => {
    const i = items[items.length - 1 - k]
    const text = `${(WHAT[i.type] ?? (() => label(i.type)))(i)}${i.change ? ` (${signed(i.change)})` : ''} · ${i.points} ${i.rank}`
    const struck = i.corrected_by || i.undone_by
    const inside = html`<span class="when">${gameTime(i.clock)}</span><span class="text">${struck ? html`<s>${text}</s> taken back` : text}${i.roll ? ' · see the roll' : ''}</span>`
    return html`<li class=${'row ' + (i.change < 0 ? 'harm' : i.change > 0 ? 'heal' : '')} key=${i.n + '-' + k} aria-setsize=${items.length} aria-posinset=${k + 1}>
      <a href=${`#/c/${store.id}/${i.roll ? 'roll/' + i.roll : 'record/' + i.n}`}>${inside}</a></li>`
  }
  return html`<section aria-labelledby="story"><h2 id="story">Story</h2>
      <${StoryChart} store=${store} items=${items} />
      <${Windowed} total=${items.length} height=${62} row=${row} label=${`Everything that happened, the newest first, ${items.length} in all`} class="short" /></section>
    ${wounds.length ? html`<section class="card"><h2>Wounds</h2><div class="scroll" tabindex="0" role="region" aria-label="Wounds"><table><thead><tr><th scope="col">No.</th><th scope="col">Cause</th><th scope="col" class="number">Points</th><th scope="col">When</th></tr></thead>
      <tbody>${wounds.map(w => html`<tr><td>${w.wound}</td><td>${w.cause}</td><td class="number">${w.level || w.points}</td><td>${gameTime(w.clock)}</td></tr>`)}</tbody></table></div></section>` : null}`
}

/** Reads a colour of the style sheet, so that charts follow dark and light. */
const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim()

/** Draws a chart when it can be seen, and again when the width or the colours change. */
function Chart({ options, data, label: text, onPick }) {
  const box = useRef(null)
  useEffect(() => {
    let chart = null, gone = false, drawn = 0
    const draw = async () => {
      const { default: uPlot } = await import('./uplot.js')
      const width = Math.floor(box.current?.clientWidth ?? 0)
      if (gone || width === 0) return
      drawn = width
      chart?.destroy()
      chart = new uPlot({ width, height: 300, ...options(uPlot) }, data, box.current)
      if (onPick) chart.over.addEventListener('click', () => { if (chart.cursor.idx !== null) onPick(chart.cursor.idx) })
    }
    const watch = new ResizeObserver(() => { if (Math.abs((box.current?.clientWidth ?? 0) - drawn) > 4) draw() })
    watch.observe(box.current)
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    scheme.addEventListener('change', draw)
    return () => { gone = true; watch.disconnect(); scheme.removeEventListener('change', draw); chart?.destroy() }
  }, [data])
  return html`<div class="chart" ref=${box} role="img" aria-label=${text}></div>`
}

/** Health over game time. Each rank is a band; within a band, higher is more points. Every point opens its roll. */
function StoryChart({ store, items }) {
  const ranks = store.system.ranks, n = ranks.length
  const { xs, ys } = positions(items, ranks, store.clock)
  const worst = items.reduce((w, i) => Math.max(w, ranks.indexOf(i.rank)), 0)
  const last = items.at(-1)
  const text = `Health over game time. ${count(items.length, 'event')}; worst rank ${ranks[worst]}; now ${last?.points ?? ''} points, ${last?.rank ?? ''}. The list below holds the same.`
  const options = uPlot => ({
    legend: { show: false }, scales: { x: { time: false, range: (u, a, b) => a === b ? [a, a + 60] : [a, b + (b - a) * 0.02] }, y: { range: [0, n] } }, cursor: { points: { size: 12 }, drag: { x: true, y: false } },
    axes: [axis({ values: (u, vs) => vs.map(shortTime), space: 90, incrs: STEPS }), axis({ size: 92, splits: () => ranks.map((_, k) => n - k - 0.5), values: () => ranks, grid: { show: false }, ticks: { show: false } })],
    series: [{}, { stroke: colour('--ink'), width: 2, paths: uPlot.paths.stepped({ align: 1 }), points: { show: true, size: 9, fill: colour('--ink') } }],
    hooks: { drawClear: [u => bands(u, ranks)] }, padding: [8, 14, 0, 0]
  })
  const pick = idx => { const i = items[idx]; if (i) location.hash = `#/c/${store.id}/${i.roll ? 'roll/' + i.roll : 'record/' + i.n}` }
  const key = items.length + ':' + store.clock
  const data = useRef({})
  if (data.current.key !== key) data.current = { key, value: [xs, ys] }
  return html`<${Chart} options=${options} data=${data.current.value} label=${text} onPick=${pick} /><p class="hint">Each point is an event: press it to see its roll.</p>`
}

/** Where each event stands: in the band of its rank, by its points among those seen there. */
function positions(items, ranks, clock) {
  const n = ranks.length, seen = ranks.map(() => [Infinity, -Infinity])
  for (const i of items) {
    const s = seen[ranks.indexOf(i.rank)]
    if (s) { s[0] = Math.min(s[0], i.points); s[1] = Math.max(s[1], i.points) }
  }
  const xs = [], ys = []
  for (const i of items) {
    const k = ranks.indexOf(i.rank), [low, high] = seen[k] ?? [0, 0]
    xs.push(i.due ?? i.clock)
    ys.push(n - k - 0.5 + (high > low ? ((i.points - low) / (high - low) - 0.5) * 0.7 : 0))
  }
  if (items.length && clock > xs.at(-1)) { xs.push(clock); ys.push(ys.at(-1)) }
  return { xs, ys }
}

function bands(u, ranks) {
  const { ctx, bbox } = u, n = ranks.length
  ctx.save()
  ranks.forEach((rank, k) => {
    const top = u.valToPos(n - k, 'y', true), bottom = u.valToPos(n - k - 1, 'y', true)
    ctx.globalAlpha = 0.22
    ctx.fillStyle = colour('--step' + rankStep(ranks, rank))
    ctx.fillRect(bbox.left, top, bbox.width, bottom - top)
  })
  ctx.restore()
}

const axis = rest => ({ stroke: colour('--quiet'), grid: { stroke: colour('--line'), width: 1 }, ticks: { stroke: colour('--line') }, font: '12px system-ui, sans-serif', ...rest })

const STEPS = [1, 3, 5, 10, 15, 30, 60, 300, 600, 1800, 3600, 10800, 21600, 43200, 86400, 172800, 604800, 1209600, 2592000, 7776000, 31536000, 315360000]

/** Game time on an axis: only as fine as it must be. */
function shortTime(seconds) {
  const day = Math.floor(seconds / 86400) + 1, h = Math.floor(seconds / 3600) % 24, m = Math.floor(seconds / 60) % 60, s = seconds % 60
  const two = v => String(v).padStart(2, '0')
  return `d${day} ${two(h)}:${two(m)}${s ? ':' + two(s) : ''}`
}

// ---------------------------------------------------------------- what time will do

function Outlook({ store, id, alive }) {
  const seen = usePaced(store.characters.get(id)?.as_of)
  const { value, problem } = useLoaded(() => alive ? store.api.get(`/characters/${id}/prognosis?treat=both`) : Promise.resolve(null), [id, seen, alive])
  if (!alive || (problem instanceof Problem && problem.status === 404)) return null
  if (problem) return html`<section class="card"><h2>What time will do</h2><p class="quiet">${problem.message}</p></section>`
  if (!value) return html`<${Waiting} what="the prognosis" />`
  const lines = [['Left alone', value.untreated, '--step4', false], ['Treated now', value.treated, '--step0', true]].filter(([, p]) => p)
  const well = lines.every(([, p]) => p.curve[0]?.recovered === 1)
  const title = html`<h2 id="outlook">What time will do</h2>`
  if (well) return html`<section class="card" aria-labelledby="outlook">${title}<p class="quiet">Nothing: there is no wound that time would change.</p></section>`
  const changing = lines.some(([, p]) => p.death.probability > 0 || (p.recovery.probability > 0 && p.curve.length > 1))
  return html`<section class="card" aria-labelledby="outlook">${title}
    ${lines.map(([name, p]) => html`<p><strong>${name}${name === 'Treated now' ? byWhom(store, p) : ''}:</strong> ${inWords(p)}</p>`)}
    ${value.refused ? html`<p class="quiet">No treatment to reckon with: ${value.refused.reason ?? value.refused.code}.</p>` : null}
    ${changing ? html`<${OutlookChart} lines=${lines} />` : null}
    <p class="hint">Worked out exactly by the rules, not simulated. No die is thrown for it.</p></section>`
}

function byWhom(store, p) {
  const by = p.first?.map(f => f.data?.by).find(Boolean)
  return by ? ` by ${store.name(by)}` : ''
}

const percent = p => p > 0 && p < 0.001 ? 'less than 0.1 %' : p < 1 && p > 0.999 ? 'more than 99.9 %' : `${Math.round(p * 1000) / 10} %`

function inWords(p) {
  const parts = []
  if (p.death.probability > 0) parts.push(`dies with ${percent(p.death.probability)}${p.death.median !== undefined ? `; half of these deaths come within ${duration(p.death.median)}` : ''}`)
  else parts.push('does not die of this')
  if (p.recovery.probability > 0) parts.push(`recovers with ${percent(p.recovery.probability)}${p.recovery.median ? `, in half of the cases within ${duration(p.recovery.median)}` : ''}`)
  if (p.stuck > 0) parts.push(`stays as it is with ${percent(p.stuck)}`)
  if (p.undecided > 0) parts.push(`still open after ${duration(p.horizon)}: ${percent(p.undecided)}`)
  return parts.map(capital).join('. ') + '.'
}

function OutlookChart({ lines }) {
  const xs = [...new Set(lines.flatMap(([, p]) => p.curve.map(c => c.after)))].sort((a, b) => a - b)
  const at = (p, f) => { let k = 0; return xs.map(x => { while (k + 1 < p.curve.length && p.curve[k + 1].after <= x) k++; return 100 * f(p.curve[k]) }) }
  const series = lines.flatMap(([name, p, tone]) => [
    { name: `${name}: dead`, tone, dash: [], ys: at(p, c => c.dead) },
    ...(p.recovery.probability > 0 ? [{ name: `${name}: recovered`, tone, dash: [6, 5], ys: at(p, c => c.recovered) }] : [])
  ])
  const data = useRef(null)
  data.current ??= [xs, ...series.map(s => s.ys)]
  const options = () => ({
    legend: { show: false }, scales: { x: { time: false }, y: { range: [0, 100] } }, padding: [8, 14, 0, 0],
    axes: [axis({ values: (u, vs) => vs.map(v => v === 0 ? 'now' : duration(v).replace(/ (week|day|hour|minute|second)s?/g, (_, w) => ' ' + { week: 'wk', day: 'd', hour: 'h', minute: 'min', second: 's' }[w])), space: 80, incrs: STEPS }), axis({ size: 56, values: (u, vs) => vs.map(v => v + ' %') })],
    series: [{}, ...series.map(s => ({ stroke: colour(s.tone), width: 2.5, dash: s.dash, points: { show: false } }))]
  })
  return html`<${Chart} options=${options} data=${data.current} label=${'Probability over time. ' + lines.map(([n, p]) => `${n}: ${inWords(p)}`).join(' ')} />
    <ul class="legend" aria-label="Lines of the chart">${series.map(s => html`<li class=${s.tone === '--step4' ? 'step4' : 'step0'}><i class=${s.dash.length ? 'dashed' : ''}></i>${s.name}</li>`)}</ul>`
}
