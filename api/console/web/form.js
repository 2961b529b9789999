// Forms made from JSON Schemas. A rule system says what its commands hold; a new one needs nothing here.
import { html, useId } from './html.js'
import { label, namesIn } from './words.js'

/** Members that are asked for at once, in this order. The others stand behind "More". */
const FIRST = ['character', 'attacker', 'target', 'by', 'sides', 'expression', 'weapon', 'stat', 'trait', 'skill', 'difficulty', 'points', 'level', 'cause',
  'purpose', 'devices', 'name', 'title', 'kind', 'owner', 'handle', 'role', 'creation', 'sheet', 'text', 'question', 'ruling', 'reason']

const rank = name => { const i = FIRST.indexOf(name); return i < 0 ? FIRST.length : i }

/** Follows a $ref within its document. */
export function resolve(schema, root) {
  if (!schema?.$ref) return schema ?? {}
  const target = schema.$ref.replace(/^#\//, '').split('/').reduce((at, step) => at?.[step], root)
  return { ...target, description: schema.description ?? target?.description, readOnly: schema.readOnly }
}

const types = schema => [schema.type ?? []].flat()
const is = (schema, type) => types(schema).includes(type)

/** Whether a member names a character. */
export function namesCharacter(name, schema) {
  if (!is(schema, 'string') || schema.enum || schema.maxLength) return false
  return ['character', 'attacker', 'defender', 'target', 'victim'].includes(name) || /\bcharacter\b/.test(schema.description ?? '')
}

/** What is abbreviated in a schema. */
const WORDS = { pc: "a player's character", npc: "the game master's (npc)", free: 'free: no budget is checked', book: 'by the book: its budgets are checked', table: 'at the table' }

/** What the program itself puts into a command. */
const FILLED = new Set(['salt', 'payload', 'seal'])

/** The members of an object, the first ones first. */
function members(schema, root) {
  return Object.entries(schema.properties ?? {}).map(([name, s]) => ({ name, schema: resolve(s, root), required: (schema.required ?? []).includes(name) }))
    .filter(m => !m.schema.readOnly && !FILLED.has(m.name))
    .sort((a, b) => rank(a.name) - rank(b.name))
}

/** Splits members into those asked for at once and the rest. */
function split(all) {
  const simple = m => !is(m.schema, 'object') && !is(m.schema, 'array')
  const first = all.filter(m => m.required || (rank(m.name) < FIRST.length && simple(m)))
  return [first.length ? first : all, first.length ? all.filter(m => !first.includes(m)) : []]
}

/** A value without what was left empty; undefined when nothing is left. */
export function pruned(value) {
  if (value === '' || value === null || value === undefined) return undefined
  if (Array.isArray(value)) {
    const list = value.map(pruned).filter(v => v !== undefined)
    return list.length ? list : undefined
  }
  if (typeof value !== 'object') return value
  const entries = Object.entries(value).map(([k, v]) => [k, pruned(v)]).filter(([, v]) => v !== undefined)
  return entries.length ? Object.fromEntries(entries) : undefined
}

/** What an object holds, also the empty parts that its schema requires. */
export function complete(schema, root, value) {
  const s = resolve(schema, root)
  if (!is(s, 'object')) return pruned(value)
  if (!s.properties) return pruned(value) ?? {}
  const out = {}
  for (const { name, schema: member, required } of members(s, root)) {
    const given = pruned(value?.[name])
    if (given !== undefined) out[name] = is(member, 'object') ? complete(member, root, given) : is(member, 'array') && member.items ? given.map(v => complete(member.items, root, v)) : given
    else if (required && is(member, 'object')) out[name] = complete(member, root, {})
    else if (required && is(member, 'array')) out[name] = []
  }
  for (const [k, v] of Object.entries(value ?? {})) if (!(k in (s.properties ?? {})) && pruned(v) !== undefined) out[k] = v
  return out
}

/**
 * The members of an object as fields.
 * context: {characters, ranks, participants, sheets(value) for suggestions, errors: path -> message, sheet: schema of a sheet}
 */
export function Fields({ schema, root, value, onChange, path, context, flat }) {
  const s = resolve(schema, root)
  const shown = members(s, root).filter(m => !context.hidden?.includes(path + '.' + m.name))
  const [first, more] = flat ? [shown, []] : split(shown)
  const field = m => html`<${Field} key=${m.name} ...${m} root=${root} value=${value?.[m.name]} path=${path + '.' + m.name} whole=${value} context=${context}
    onChange=${v => onChange({ ...value, [m.name]: v })} />`
  const inside = more.some(m => Object.keys(context.errors ?? {}).some(e => e.startsWith(path + '.' + m.name)))
  return html`${first.map(field)}
    ${more.length ? html`<details class="more" open=${inside}><summary>More (${more.map(m => label(m.name).toLowerCase()).join(', ')})</summary>${more.map(field)}</details>` : null}`
}

function Field(props) {
  const { name, schema, context } = props
  if (name === 'sheet' && context.sheet && !schema.type) {
    return html`<${Nested} ...${props} schema=${context.sheet} root=${context.sheet} title="Sheet" />`
  }
  if (namesCharacter(name, schema)) return html`<${CharacterField} ...${props} />`
  if (is(schema, 'object') && schema.properties) return html`<${Nested} ...${props} />`
  if (is(schema, 'object')) return html`<${MapField} ...${props} />`
  if (is(schema, 'array')) return html`<${ListField} ...${props} />`
  if (is(schema, 'boolean')) return html`<${YesNo} ...${props} />`
  if (schema.enum) return html`<${Choice} ...${props} options=${schema.enum.map(v => [v, WORDS[v] ?? String(v).replace(/_/g, ' ')])} />`
  if (['owner', 'handle'].includes(name) && context.participants && !/1 to 32/.test(schema.description ?? '')) {
    return html`<${Choice} ...${props} options=${context.participants.filter(p => p.role !== 'spectator').map(p => [p.handle, p.name ? `${p.name} (${p.handle})` : p.handle])} />`
  }
  if (name === 'shown_to' && context.participants) {
    return html`<${People} people=${context.participants.filter(p => p.role !== 'gm')} value=${props.value ?? []} onChange=${props.onChange} legend=${label(name)} />`
  }
  if (types(schema).length === 0) return html`<${Raw} ...${props} />`
  return html`<${Input} ...${props} />`
}

/** A label, a control, a hint and a complaint, tied together for screen readers. */
function Row({ name, title, required, schema, path, context, children }) {
  const id = useId()
  const error = context.errors?.[path]
  const hint = schema.description ? id + '-hint' : undefined
  const wrong = error ? id + '-error' : undefined
  return html`<div class=${'field' + (error ? ' wrong' : '')}>
    <label for=${id}>${title ?? label(name)}${required ? '' : html` <span class="quiet">optional</span>`}</label>
    ${children({ id, 'aria-describedby': [hint, wrong].filter(Boolean).join(' ') || undefined, 'aria-invalid': error ? 'true' : undefined, required: required && !context.lenient })}
    ${hint ? html`<p class="hint" id=${hint}>${schema.description}</p>` : null}
    ${error ? html`<p class="error" id=${wrong}>${error}</p>` : null}
  </div>`
}

function Input(props) {
  const { schema, value, onChange, name, context, whole } = props
  const number = is(schema, 'integer') || is(schema, 'number')
  const list = useId()
  const suggestions = number || schema.maxLength > 1000 ? [] : context.suggest?.(name, whole) ?? []
  const set = e => onChange(number ? (e.target.value === '' ? undefined : Number(e.target.value)) : e.target.value)
  return html`<${Row} ...${props}>${tie => schema.maxLength > 1000
    ? html`<textarea ...${tie} rows="3" maxlength=${schema.maxLength} value=${value ?? ''} onInput=${set}></textarea>`
    : html`<input ...${tie} type=${number ? 'number' : 'text'} inputmode=${number && !(schema.minimum < 0) ? 'numeric' : undefined} step=${number ? 1 : undefined} min=${schema.minimum} max=${schema.maximum}
        maxlength=${schema.maxLength} value=${value ?? ''} onInput=${set} list=${suggestions.length ? list : undefined} autocomplete="off" autocapitalize=${name === 'handle' || name === 'expression' ? 'none' : undefined} spellcheck="false" />
      ${suggestions.length ? html`<datalist id=${list}>${suggestions.map(s => html`<option value=${s} />`)}</datalist>` : null}`}<//>`
}

function Choice(props) {
  const { options, value, onChange, required } = props
  return html`<${Row} ...${props}>${tie => html`<select ...${tie} value=${value ?? ''} onChange=${e => onChange(e.target.value || undefined)}>
    ${required && value !== undefined ? null : html`<option value="">${required ? 'Choose …' : '—'}</option>`}
    ${options.map(([v, text]) => html`<option value=${v} selected=${v === value}>${text}</option>`)}</select>`}<//>`
}

function YesNo(props) {
  const { value, onChange, schema, required } = props
  if (!is(schema, 'null')) {
    return html`<${Row} ...${props} required=${true}>${tie => html`<input ...${tie} required=${required} type="checkbox" checked=${Boolean(value)} onChange=${e => onChange(e.target.checked || undefined)} />`}<//>`
  }
  return html`<${Row} ...${props}>${tie => html`<select ...${tie} value=${value === undefined ? '' : String(value)} onChange=${e => onChange(e.target.value === '' ? undefined : e.target.value === 'true')}>
    <option value="">As the rules say</option><option value="true">Yes</option><option value="false">No</option></select>`}<//>`
}

/** Characters as large buttons, or as a list when there are many. */
function CharacterField(props) {
  const { name, required, value, onChange, context, schema, path, whole } = props
  const id = useId()
  const others = ['target'].includes(name) ? Object.values(whole ?? {}).filter(v => typeof v === 'string') : []
  const all = context.characters.filter(c => !c.retired && (c.id === value || c.alive || name !== 'attacker') && (c.id === value || !others.includes(c.id)))
  if (all.length > 12) {
    return html`<${Choice} ...${props} options=${all.map(c => [c.id, `${c.name} (${c.health?.rank ?? ''})`])} />`
  }
  const error = context.errors?.[path]
  return html`<fieldset class=${'field chips' + (error ? ' wrong' : '')} aria-describedby=${error ? id + '-error' : undefined}>
    <legend>${label(name)}${required ? '' : html` <span class="quiet">optional</span>`}${schema.description && !['target', 'attacker'].includes(name) ? html` <span class="quiet">· ${schema.description}</span>` : null}</legend>
    ${required ? null : html`<label class="chip"><input type="radio" name=${id} checked=${!value} onChange=${() => onChange(undefined)} /><span>nobody</span></label>`}
    ${all.map(c => html`<label class="chip"><input type="radio" name=${id} required=${required && !context.lenient} checked=${c.id === value} onChange=${() => onChange(c.id)} /><span>${c.name}</span></label>`)}
    ${all.length ? null : html`<p class="hint">There is nobody to choose yet: create a character first.</p>`}
    ${error ? html`<p class="error" id=${id + '-error'}>${error}</p>` : null}
  </fieldset>`
}

/** Some of those who take part. */
export function People({ people, value, onChange, legend }) {
  const toggle = handle => onChange(value.includes(handle) ? value.filter(h => h !== handle) : [...value, handle])
  return html`<fieldset class="field chips"><legend>${legend}</legend>
    ${people.map(p => html`<label class="chip"><input type="checkbox" checked=${value.includes(p.handle)} onChange=${() => toggle(p.handle)} /><span>${p.name || p.handle}</span></label>`)}
    ${people.length ? null : html`<p class="hint">There is nobody to choose yet.</p>`}</fieldset>`
}

function Nested(props) {
  const { name, title, schema, root, value, onChange, path, required } = props
  // A part that may be left out asks for its members only once it is begun.
  const context = required || pruned(value) !== undefined ? { ...props.context, lenient: required && props.context.lenient } : { ...props.context, lenient: true }
  const body = html`<${Fields} schema=${schema} root=${root} value=${value ?? {}} onChange=${onChange} path=${path} context=${context} flat=${!required} />`
  if (required) return html`<fieldset class="group"><legend>${title ?? label(name)}</legend>${body}</fieldset>`
  return html`<details class="group" open=${value !== undefined}><summary>${title ?? label(name)} <span class="quiet">optional</span></summary>
    ${schema.description ? html`<p class="hint">${schema.description}</p>` : null}${body}</details>`
}

/** Names with values: skills, traits. An empty name is left out. */
function MapField(props) {
  const { name, schema, root, value, onChange, path, context } = props
  const items = resolve(schema.additionalProperties === true ? {} : schema.additionalProperties, root)
  const rows = Object.entries(value ?? {})
  const put = (i, key, v) => onChange(Object.fromEntries(rows.map((r, k) => k === i ? [key, v] : r)))
  const open = is(items, 'object')
  // Two rows of one name would become one, and nobody would see which is lost.
  const rename = (i, v, input) => {
    const taken = rows.some(([key], k) => k !== i && key === input.value)
    input.setCustomValidity(taken ? `${input.value} is there already.` : '')
    if (taken) input.reportValidity()
    else put(i, input.value, v)
  }
  return html`<fieldset class="group"><legend>${label(name)}</legend>
    ${schema.description ? html`<p class="hint">${schema.description}</p>` : null}
    ${rows.map(([key, v], i) => html`<div class=${open ? 'entry open' : 'entry'} key=${i}>
      <input type="text" aria-label=${`Name in ${label(name)}`} value=${key} onChange=${e => rename(i, v, e.target)} />
      ${open ? null : is(items, 'integer') ? html`<input type="number" step="1" aria-label=${`Value of ${key || 'the new name'}`} value=${v ?? ''} onInput=${e => put(i, key, e.target.value === '' ? undefined : Number(e.target.value))} />`
        : html`<input type="text" aria-label=${`Value of ${key || 'the new name'}`} value=${v ?? ''} onInput=${e => put(i, key, e.target.value)} />`}
      <button type="button" class="plain" aria-label=${`Remove ${key || 'this'}`} onClick=${() => onChange(Object.fromEntries(rows.filter((_, k) => k !== i)))}>✕</button>
      ${open ? html`<div class="group whole"><${Fields} schema=${items} root=${root} value=${v} onChange=${n => put(i, key, n)} path=${path + '.' + key} context=${context} flat=${true} /></div>` : null}
    </div>`)}
    <button type="button" onClick=${() => onChange({ ...value, [fresh(value)]: open ? {} : is(items, 'integer') ? 1 : '' })}>Add to ${label(name).toLowerCase()}</button>
    ${context.errors?.[path] ? html`<p class="error">${context.errors[path]}</p>` : null}
  </fieldset>`
}

/** A name that is not taken. */
function fresh(map) {
  for (let k = 1; ; k++) if (!(`new ${k}` in (map ?? {}))) return `new ${k}`
}

function ListField(props) {
  const { name, schema, root, value, onChange, path, context, required } = props
  const items = resolve(schema.items, root)
  const rows = [...(value ?? [])]
  while (required && rows.length < (schema.minItems ?? 0)) rows.push(is(items, 'object') ? {} : '')
  const put = (i, v) => onChange(rows.map((r, k) => k === i ? v : r))
  const one = label(name).replace(/s$/, '').toLowerCase()
  const fixed = schema.minItems !== undefined && schema.minItems === schema.maxItems
  return html`<fieldset class="group"><legend>${label(name)}</legend>
    ${schema.description ? html`<p class="hint">${schema.description}</p>` : null}
    ${rows.map((row, i) => html`<div class="entry open" key=${i}>
      ${is(items, 'object') ? html`<fieldset class="group"><legend>${label(one)} ${i + 1}</legend><${Fields} schema=${items} root=${root} value=${row} onChange=${v => put(i, v)} path=${`${path}.${i}`} context=${context} /></fieldset>`
        : html`<${Field} name=${`${one} ${i + 1}`} schema=${items} required=${true} root=${root} value=${row} path=${`${path}.${i}`} context=${context} onChange=${v => put(i, v)} />`}
      ${fixed ? null : html`<button type="button" class="plain" aria-label=${`Remove ${one} ${i + 1}`} onClick=${() => onChange(rows.filter((_, k) => k !== i))}>✕</button>`}
    </div>`)}
    ${fixed ? null : html`<button type="button" onClick=${() => onChange([...rows, is(items, 'object') ? {} : ''])}>Add ${one}</button>`}
    ${context.errors?.[path] ? html`<p class="error">${context.errors[path]}</p>` : null}
  </fieldset>`
}

/** What no schema describes: JSON, as it is. */
function Raw(props) {
  const { value, onChange } = props
  const change = e => {
    const text = e.target.value.trim()
    try { e.target.setCustomValidity(''); onChange(text === '' ? undefined : JSON.parse(text)) } catch { e.target.setCustomValidity('This is no JSON.') }
  }
  return html`<${Row} ...${props}>${tie => html`<textarea ...${tie} rows="4" class="code" spellcheck="false" onChange=${change}>${value === undefined ? '' : JSON.stringify(value, null, 1)}</textarea>`}<//>`
}

/** Names from the sheet of whoever acts, for members called skill, trait, weapon … */
export function suggestions(characters, sheetOf) {
  return (name, whole) => {
    const actor = characters.find(c => c.id === (whole?.attacker ?? whole?.by ?? whole?.character)) ?? characters.find(c => c.id === whole?.character)
    const sheet = sheetOf ?? actor?.sheet
    return [...new Set([...namesIn(sheet, name), ...namesIn(sheet, name + 's')])]
  }
}

/** Complaints of the server by path: body.data.points -> data.points. */
export const errorsByPath = problem => Object.fromEntries((problem?.fields ?? []).map(f => [f.location.replace(/^body\./, ''), f.message]))
