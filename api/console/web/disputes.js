// Disputes: opened on any record, followed, ruled. A ruling stands beside what it is about; nobody can erase either.
import { html, useState } from './html.js'
import { everyPage } from './api.js'
import { CommandDialog } from './command.js'
import { Trouble, useLoaded, usePaced, Waiting } from './ui.js'
import { count, wallDate } from './words.js'

/** What a record says, loaded when it is not at hand. */
function Said({ store, n }) {
  const { value } = useLoaded(async () => store.log.get(n) ?? (await store.api.get(`/events?from=${n}&limit=1`)).items[0], [store.id, n])
  return value ? html`<p>${store.tell(value).text}</p>` : null
}

const RULINGS = { upheld: 'upheld: it stands', overturned: 'overturned', void: 'void: as if it had not happened' }

export function Disputes({ store }) {
  const has = Boolean(store.command('dispute.open'))
  const { value, problem, again } = useLoaded(async () => has ? { disputes: await everyPage(store.api.get, '/disputes'), corrections: await everyPage(store.api.get, '/corrections') } : null, [store.id, usePaced(store.next)])
  const [doing, setDoing] = useState(null)
  const [last, setLast] = useState(null)
  if (value && value !== last) setLast(value)
  const shown = value ?? last
  if (!has) return html`<h1>Disputes</h1><p class="empty">The server of this campaign does not keep disputes.</p>`
  if (problem && !shown) return html`<h1>Disputes</h1><${Trouble} problem=${problem} onRetry=${again} />`
  if (!shown) return html`<h1>Disputes</h1><${Waiting} what="the disputes" />`
  const open = shown.disputes.filter(d => d.state === 'open'), ruled = shown.disputes.filter(d => d.state !== 'open')
  const card = d => html`<li class="card" key=${d.id}>
    <p class="quiet">${d.by} on <a href=${`#/c/${store.id}/roll/${d.roll}`}>record ${d.roll}</a>, ${wallDate(d.opened.at)}</p>
    <${Said} store=${store} n=${d.roll} />
    <p class="big-words">${d.question}</p>
    <p class="hint">The evidence is frozen: the ledger as it stood with ${count(d.evidence?.size ?? 0, 'record')}.</p>
    ${d.rulings.map(r => html`<div class="ruling"><p><strong>Ruled ${RULINGS[r.ruling] ?? r.ruling}</strong> by ${r.by}, ${wallDate(r.at)}</p><p>${r.reason}</p></div>`)}
    ${store.may('dispute.rule') ? html`<p><button type="button" onClick=${() => setDoing({ type: 'dispute.rule', preset: { dispute: d.id } })}>${d.rulings.length ? 'Rule again' : 'Rule on it'}</button></p>` : null}</li>`
  return html`<h1>Disputes</h1>
    <p>Whoever sits at the table may put a roll, a wound or a check into question: open it from the roll, or from an event at the table.</p>
    <h2>Open</h2>${open.length ? html`<ul>${open.map(card)}</ul>` : html`<p class="empty">Nothing is in dispute.</p>`}
    ${ruled.length ? html`<h2>Ruled</h2><ul>${ruled.map(card)}</ul>` : null}
    ${shown.corrections.length ? html`<h2>Taken back</h2><ul class="rows">${shown.corrections.map(c => html`<li class="plain-row"><p><a href=${`#/c/${store.id}/record/${c.records.first}`}>Record ${c.records.first}</a> was taken back by ${c.by}: ${c.reason}${c.taken_back_by ? ' (this was itself taken back)' : ''}</p>
      ${c.questioned?.length ? html`<p class="quiet">To look at again: ${c.questioned.map((n, i) => html`${i ? ', ' : ''}<a href=${`#/c/${store.id}/roll/${n}`}>roll ${n}</a>`)}</p>` : null}</li>`)}</ul>` : null}
    ${doing ? html`<${CommandDialog} store=${store} ...${doing} onClose=${() => setDoing(null)} />` : null}`
}
