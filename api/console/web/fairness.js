// The dice over time: how often each face came, and what that means in plain words.
import { html, useEffect, useMemo, useState } from './html.js'
import { Act, Trouble } from './ui.js'
import { count } from './words.js'

/** ln of the gamma function (Lanczos). */
function lnGamma(x) {
  const c = [76.18009172947146, -86.50532032941677, 24.01409824083091, -1.231739572450155, 0.1208650973866179e-2, -0.5395239384953e-5]
  let sum = 1.000000000190015
  c.forEach((v, j) => { sum += v / (x + 1 + j) })
  return -(x + 5.5) + (x + 0.5) * Math.log(x + 5.5) + Math.log(2.5066282746310005 * sum / x)
}

/** How often fair dice give a chi-square of at least x with k degrees of freedom. */
export function chiSquareTail(x, k) {
  const a = k / 2, half = x / 2
  if (x <= 0) return 1
  if (half < a + 1) {
    let sum = 1 / a, term = sum
    for (let n = a + 1; term > sum * 1e-16; n++) { term *= half / n; sum += term }
    return Math.max(0, 1 - sum * Math.exp(-half + a * Math.log(half) - lnGamma(a)))
  }
  let b = half + 1 - a, c = 1e300, d = 1 / b, h = d
  for (let i = 1; i < 500; i++) {
    const an = -i * (i - a)
    b += 2
    d = 1 / (an * d + b)
    c = b + an / c
    const step = d * c
    h *= step
    if (Math.abs(step - 1) < 1e-15) break
  }
  return Math.exp(-half + a * Math.log(half) - lnGamma(a)) * h
}

/** What a count of faces comes to. @param {number[]} faces counted, by face from 1 */
export function judge(faces) {
  const sides = faces.length, n = faces.reduce((a, b) => a + b, 0)
  const expected = n / sides
  if (n < 5 * sides) return { n, expected, p: null, words: `Too few to say anything: a d${sides} needs at least ${5 * sides} throws, there are ${n}.` }
  const x = faces.reduce((sum, f) => sum + (f - expected) ** 2 / expected, 0)
  const p = chiSquareTail(x, sides - 1)
  const oneIn = Math.round(1 / p).toLocaleString('en')
  const words = p >= 0.05 ? 'As uneven as fair dice usually are.'
    : p >= 0.01 ? `A little uneven. About one fair die in ${oneIn} looks so, and you look at several.`
      : p >= 0.001 ? `Uneven. About one fair die in ${oneIn} looks so. Keep an eye on it.`
        : `Very uneven. Fewer than one fair die in ${p < 1e-9 ? 'a billion' : oneIn} looks so.`
  return { n, x, p, expected, words }
}

/** Counts faces by who rolled, where the dice came from, and sides. */
export function countRoll(counts, entry) {
  const d = entry.roll
  if (!d?.draws || entry.corrected_by) return
  const who = d.lane === 'system' ? 'the clock' : entry.by
  for (const [sides, face] of d.draws) {
    if (sides < 2 || sides > 100) continue
    const key = `${d.source}\n${who}\n${sides}`
    const faces = counts.get(key) ?? counts.set(key, new Array(sides).fill(0)).get(key)
    faces[face - 1]++
  }
}

/** Adds up what passes a filter, by sides. */
function summed(counts, source, who) {
  const bySides = new Map()
  for (const [key, faces] of counts) {
    const [s, w, sides] = key.split('\n')
    if (s !== source || (who && w !== who)) continue
    const sum = bySides.get(Number(sides)) ?? new Array(faces.length).fill(0)
    bySides.set(Number(sides), sum.map((v, i) => v + faces[i]))
  }
  return [...bySides].sort(([a], [b]) => a - b)
}

export function Fairness({ store }) {
  const [state, setState] = useState({ counts: new Map(), from: 0, read: 0 })
  const [problem, setProblem] = useState(null)
  const [who, setWho] = useState('')
  const [source, setSource] = useState('ledger')
  const total = store.campaign.counts.rolls + store.campaign.counts.typed_in
  // Page by page, so that a long campaign shows something at once.
  useEffect(() => {
    if (state.from === null) return
    let gone = false
    store.api.get(`/rolls?from=${state.from}&limit=500`).then(page => {
      if (gone) return
      for (const r of page.items) countRoll(state.counts, r)
      setState({ counts: state.counts, from: page.next, read: state.read + page.items.length })
    }, error => gone || setProblem(error))
    return () => { gone = true }
  }, [state])
  const people = useMemo(() => [...new Set([...state.counts.keys()].map(k => k.split('\n')[1]))].sort(), [state])
  const dice = summed(state.counts, source, who)
  return html`<h1>The dice over time</h1>
    <p class="lead">Fair dice are uneven, too. Here stands how uneven these are, and how often fair ones look like that.</p>
    <div class="actions filters"><div class="field"><label for="who">Whose rolls</label><select id="who" value=${who} onChange=${e => setWho(e.target.value)}><option value="">everybody's</option>${people.map(p => html`<option value=${p} selected=${p === who}>${p}</option>`)}</select></div>
      <div class="field"><label for="source">Which dice</label><select id="source" value=${source} onChange=${e => setSource(e.target.value)}><option value="ledger">from the ledger</option><option value="physical">typed in</option></select></div></div>
    <${Trouble} problem=${problem} onRetry=${() => { setProblem(null); setState(s => ({ ...s })) }} />
    <p class="quiet" role="status">${state.from === null ? `${count(state.read, 'roll')} counted.` : `Counting: ${state.read} of ${total} …`}</p>
    ${state.from === null && !dice.length ? html`<p class="empty">No such dice were thrown yet.</p>` : null}
    ${dice.map(([sides, faces]) => html`<${Die} key=${sides} sides=${sides} faces=${faces} />`)}`
}

function Die({ sides, faces }) {
  const [all, setAll] = useState(sides <= 20)
  const { n, x, p, expected, words } = judge(faces)
  const most = Math.max(...faces, expected * 1.2)
  return html`<section class="card" aria-labelledby=${'d' + sides}><h2 id=${'d' + sides}>d${sides} <span class="quiet">${count(n, 'throw')}</span></h2>
    <p class="big-words">${words}</p>
    ${p === null ? null : html`<p class="quiet">Chi-square ${x.toFixed(1)} with ${sides - 1} degrees of freedom; p = ${p < 0.0001 ? p.toExponential(1) : p.toFixed(p < 0.1 ? 3 : 2)}. The mark on each bar is what one would expect, ${expected.toFixed(1)}.</p>`}
    ${all ? html`<ol class="bars" aria-label=${`How often each face of the d${sides} came`}>${faces.map((f, i) => html`<li><span>${i + 1}</span><span class="bar" aria-hidden="true"><i style=${{ width: 100 * f / most + '%' }}></i><b style=${{ left: 100 * expected / most + '%' }}></b></span><span>${f}×</span></li>`)}</ol>`
      : html`<${Act} work=${async () => setAll(true)}>Show all faces<//>`}</section>`
}
