// Small parts that all pages are made of.
import { html, useEffect, useLayoutEffect, useRef, useState } from './html.js'
import { Problem, sentence } from './api.js'
import { uuid } from './subtle.js'
import { count, rankStep, until } from './words.js'

/** A problem in a sentence, with a way on. */
export function Trouble({ problem, onRetry }) {
  if (!problem) return null
  const text = problem instanceof Error ? problem.message : String(problem)
  return html`<div class="trouble" role="alert">
    <p>${sentence(text)} ${problem.way ?? ''}</p>
    ${problem.rule ? html`<p class="quiet">Rule ${problem.rule}</p>` : null}
    ${problem instanceof Problem && problem.status >= 500 && problem.request ? html`<p class="quiet">Request ${problem.request}</p>` : null}
    ${onRetry ? html`<button type="button" onClick=${onRetry}>Try again</button>` : null}
  </div>`
}

/**
 * Work that is done once at a time, however often it is asked for. It gets a key that stays the same until the work came
 * to something: what is tried again after a lost answer is the same command.
 * @param {(options: {key: string, onWait: (why: string) => void}) => Promise<any>} work
 */
export function useOnce(work, onDone) {
  const [state, setState] = useState({ busy: false, wait: '', problem: null })
  const running = useRef(false), key = useRef(uuid())
  const run = async () => {
    if (running.current) return // the second tap of a double tap
    running.current = true
    setState({ busy: true, wait: '', problem: null })
    try {
      const done = await work({ key: key.current, onWait: wait => setState(s => ({ ...s, wait })) })
      key.current = uuid()
      setState({ busy: false, wait: '', problem: null })
      onDone?.(done)
    } catch (problem) {
      if (problem instanceof Problem && problem.status < 500) key.current = uuid() // nothing was stored: what is tried now is another command
      setState({ busy: false, wait: '', problem })
    } finally {
      running.current = false
    }
  }
  return { ...state, run }
}

/** What a wait and a failure look like. */
export const Progress = ({ wait, problem }) => html`<${Trouble} problem=${problem} />${wait ? html`<p class="notice" role="status">${wait}</p>` : null}`

/** A button whose work takes a while: it works once at a time, and says what it waits for and what went wrong. */
export function Act({ work, class: kind = '', children, disabled, onDone, label, submit }) {
  const { busy, wait, problem, run } = useOnce(work, onDone)
  // As the button of a form it is what the Enter key presses.
  return html`<button type=${submit ? 'submit' : 'button'} class=${kind} disabled=${disabled} aria-busy=${busy} aria-label=${label} onClick=${e => { e.preventDefault(); run() }}>${children}</button>
    <${Progress} wait=${wait} problem=${problem} />`
}

/** A window above the page. The browser keeps the focus in it, and gives it back. */
export function Dialog({ title, onClose, children, wide }) {
  const ref = useRef(null), pressed = useRef(null), gone = useRef(false)
  useLayoutEffect(() => {
    const dialog = ref.current
    dialog.showModal()
    // The first field is what one came for; on a phone its keyboard would hide the rest.
    const first = dialog.querySelector('form input, form select, form textarea')
    const chosen = first?.type === 'radio' ? dialog.querySelector(`form [name="${first.name}"]:checked`) : null
    if (!matchMedia('(pointer: coarse)').matches) (chosen ?? first)?.focus()
    return () => { gone.current = true; dialog.close() }
  }, [])
  // A browser closes a window that does not heed the Escape key by itself. A press that began in the window and ended
  // beside it marks text, and closes nothing.
  return html`<dialog ref=${ref} class=${wide ? 'wide' : ''} aria-labelledby="dialog-title" onCancel=${e => { e.preventDefault(); onClose() }} onClose=${() => { if (!gone.current) onClose() }}
      onPointerDown=${e => { pressed.current = e.target }} onClick=${e => { if (e.target === ref.current && pressed.current === ref.current) onClose() }}>
    <div class="dialog">
      <header><h2 id="dialog-title">${title}</h2><button type="button" class="plain close" aria-label="Close" onClick=${onClose}>✕</button></header>
      ${children}
    </div>
  </dialog>`
}

/** Health by ranks: a step for each, from the best to the last; those lost are empty. */
export function Health({ ranks, health }) {
  if (!health) return null
  const at = Math.max(ranks.indexOf(health.rank), 0), step = rankStep(ranks, health.rank)
  const points = health.max > 0 ? `${health.points} of ${health.max}, ` : ''
  return html`<div class=${'health step' + step}>
    <div class="words"><strong>${health.rank}</strong><span>${health.max > 0 ? `${health.points} / ${health.max}` : ''}${health.penalty ? html` <span class="penalty" title="added to actions">${health.penalty}</span>` : ''}</span></div>
    <div class="ranks" role="img" aria-label=${`Health: ${points}${health.rank}, rank ${at + 1} of ${ranks.length}`}>
      ${ranks.slice(0, -1).map((r, i) => html`<i class=${i < at ? 'lost' : ''} title=${r}></i>`)}
    </div>
  </div>`
}

export const Conditions = ({ conditions, clock }) => conditions?.length
  ? html`<ul class="conditions" aria-label="Conditions">${conditions.map(c => html`<li title=${c.rule}>${c.name}${c.until > clock ? html` <span class="quiet">for ${until(c.until, clock).replace(/^in /, '')}</span>` : null}</li>`)}</ul>` : null

/**
 * A list of which only what can be seen is in the page, so that 10,000 rows cost what 30 do. Rows are equally high.
 * A reader further down is not moved when something is added on top.
 */
export function Windowed({ total, height, row, label, class: kind = '' }) {
  const box = useRef(null), before = useRef(total)
  const [top, setTop] = useState(0)
  const [seen, setSeen] = useState(600)
  useLayoutEffect(() => {
    const watch = new ResizeObserver(() => setSeen(box.current?.clientHeight || 600))
    watch.observe(box.current)
    return () => watch.disconnect()
  }, [])
  useLayoutEffect(() => {
    const added = total - before.current
    before.current = total
    if (added > 0 && box.current.scrollTop > height) box.current.scrollTop += added * height
  }, [total])
  const first = Math.max(0, Math.floor(top / height) - 6)
  const last = Math.min(total, Math.ceil((top + seen) / height) + 6)
  const rows = []
  for (let i = first; i < last; i++) rows.push(row(i))
  return html`<div class=${'windowed ' + kind} ref=${box} tabindex="0" role="region" aria-label=${label} onScroll=${e => setTop(e.currentTarget.scrollTop)}>
    <ol role="list" style=${{ height: total * height + 'px', paddingTop: first * height + 'px' }} aria-label=${label}>${rows}</ol>
  </div>`
}

/** Says something to a screen reader. */
export const Announce = ({ text }) => html`<p class="visually-hidden" role="status" aria-live="polite">${text}</p>`

/** A link or code to copy. */
export function Copy({ text, label }) {
  const [done, setDone] = useState(false)
  const field = useRef(null)
  const copy = async () => {
    field.current.select()
    try { await navigator.clipboard.writeText(text) } catch { document.execCommand('copy') }
    setDone(true)
  }
  return html`<div class="copy"><input ref=${field} readonly value=${text} aria-label=${label} onFocus=${e => e.target.select()} />
    <button type="button" onClick=${copy}>${done ? 'Copied' : 'Copy'}</button></div>`
}

/** A code that a phone's camera reads. */
export function QR({ text, label }) {
  const canvas = useRef(null)
  useEffect(() => {
    let gone = false
    import('./qrcode.js').then(({ default: qrcode }) => {
      if (gone || !canvas.current) return
      const code = qrcode(0, 'M')
      code.addData(text)
      code.make()
      const n = code.getModuleCount(), quiet = 4, scale = Math.max(3, Math.floor(264 / (n + 2 * quiet)))
      const c = canvas.current
      c.width = c.height = scale * (n + 2 * quiet)
      const g = c.getContext('2d')
      g.fillStyle = '#fff'
      g.fillRect(0, 0, c.width, c.height)
      g.fillStyle = '#000'
      for (let y = 0; y < n; y++) for (let x = 0; x < n; x++) if (code.isDark(y, x)) g.fillRect(scale * (x + quiet), scale * (y + quiet), scale, scale)
    })
    return () => { gone = true }
  }, [text])
  return html`<canvas class="qr" ref=${canvas} role="img" aria-label=${label}></canvas>`
}

/** Something that is loaded from the server, again whenever deps change. */
export function useLoaded(f, deps) {
  const [state, setState] = useState({ loading: true })
  const [tries, setTries] = useState(0)
  useEffect(() => {
    let gone = false
    setState(s => ({ ...s, loading: true }))
    f().then(value => gone || setState({ value }), problem => gone || setState({ problem }))
    return () => { gone = true }
  }, [...deps, tries])
  return { ...state, again: () => setTries(n => n + 1) }
}

const PACE = 1000 // ms between two loads of what changes all the time

/** A value that follows another one, but not faster than somebody reads: what is loaded for it is loaded once a second at most. */
export function usePaced(value) {
  const [shown, show] = useState(value)
  const last = useRef(performance.now())
  useEffect(() => {
    if (value === shown) return
    const timer = setTimeout(() => { last.current = performance.now(); show(value) }, Math.max(0, last.current + PACE - performance.now()))
    return () => clearTimeout(timer)
  }, [value, shown])
  return shown
}

/** What to show while something is loaded. */
export const Waiting = ({ what }) => html`<p class="quiet" role="status">Loading ${what} …</p>`

/** "3 rolls" in a heading's shade. */
export const Tally = ({ n, word }) => html`<span class="quiet"> ${count(n, word)}</span>`
