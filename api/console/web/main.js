// The shell: which page is shown, who one is, and what must not be overlooked.
import { Component, html, render, useEffect, useRef, useState } from './html.js'
import { inCampaign, signIn, signOut, tokenIn, whenOthersSign } from './auth.js'
import { closeForeign, closeStores, storeOf, useStore } from './store.js'
import { forgetSeen } from './proof.js'
import { Announce, Trouble, Waiting } from './ui.js'
import { Table } from './table.js'

/** Pages that are loaded when they are first asked for. */
const PAGES = {
  home: () => import('./start.js').then(m => m.Home),
  start: () => import('./start.js').then(m => m.Start),
  join: () => import('./start.js').then(m => m.Join),
  table: async () => Table,
  people: () => import('./people.js').then(m => m.People),
  character: () => import('./character.js').then(m => m.Character),
  sessions: () => import('./sessions.js').then(m => m.Sessions),
  session: () => import('./sessions.js').then(m => m.Replay),
  rolls: () => import('./rolls.js').then(m => m.Rolls),
  roll: () => import('./rolls.js').then(m => m.Audit),
  dice: () => import('./fairness.js').then(m => m.Fairness),
  disputes: () => import('./disputes.js').then(m => m.Disputes),
  record: () => import('./rolls.js').then(m => m.RecordPage)
}

const TABS = [['table', 'Table'], ['sessions', 'Sessions', 'session'], ['rolls', 'Rolls', 'roll'], ['dice', 'Dice'], ['disputes', 'Disputes'], ['people', 'People']]

/** #/c/<campaign>/<page>/<argument>?<options> */
export function route(hash = location.hash) {
  const [path, query = ''] = hash.replace(/^#\/?/, '').split('?')
  const parts = path.split('/').filter(Boolean).map(decoded)
  const options = Object.fromEntries(new URLSearchParams(query))
  if (parts[0] === 'c' && parts[1]) return { campaign: parts[1], page: parts[2] ?? 'table', argument: parts[3], options }
  return { page: parts[0] ?? 'home', argument: parts[1], options }
}

/** A part of an address in plain letters; one that nobody can read stays as it is. */
function decoded(part) {
  try { return decodeURIComponent(part) } catch { return part }
}

function App() {
  const [at, setAt] = useState(route())
  const [entering, setEntering] = useState(/[#&]token=/.test(location.hash))
  const [problem, setProblem] = useState(null) // { error, token }: one can try again without the link
  const [, draw] = useState(0)

  const enter = async token => {
    setEntering(true)
    setProblem(null)
    try {
      const me = await signIn(token)
      closeStores()
      location.hash = me.admin ? '#/start' : `#/c/${me.campaign}/join`
    } catch (error) {
      setProblem({ error, token })
    }
    setEntering(false)
  }
  useEffect(() => {
    const go = async () => {
      if (/[#&]token=/.test(location.hash)) {
        // The token goes out of the address at once, so that it is in no history.
        const token = tokenIn(location.hash)
        history.replaceState(null, '', '/#/')
        await enter(token)
      }
      setAt(route())
      scrollTo(0, 0)
    }
    go()
    addEventListener('hashchange', go)
    const stop = whenOthersSign(() => { closeForeign(); draw(n => n + 1) })
    return () => { removeEventListener('hashchange', go); stop() }
  }, [])

  if (entering) return html`<main class="page"><${Waiting} what="your seat" /></main>`
  if (problem) return html`<main class="page"><h1>Tallystick</h1><${Trouble} problem=${problem.error} onRetry=${() => enter(problem.token)} /><p><a href="#/" onClick=${() => setProblem(null)}>Back to the start</a></p></main>`
  if (at.campaign) {
    if (!inCampaign(at.campaign)) return html`<${Page} name="home" key="home" wanted=${at.campaign} />`
    return html`<${Campaign} key=${at.campaign + inCampaign(at.campaign).handle} ...${at} />`
  }
  return html`${at.page === 'home' ? null : html`<header class="top"><div class="title"><a href="#/" class="mark" aria-label="Tallystick, start page"><img src="/console/icon.svg" alt="" width="28" height="28" /></a><a href="#/" class="name">Tallystick</a></div></header>`}
    <${Page} name=${PAGES[at.page] && !['table', 'session', 'roll'].includes(at.page) ? at.page : 'home'} key=${at.page} ...${at} />`
}

/** A page that cannot be drawn says so, and does not take the others with it. */
class Guard extends Component {
  componentDidCatch(error) {
    console.error(error)
    this.setState({ broken: true })
  }

  render({ children }, { broken }) {
    return broken ? html`<h1>This page is broken</h1><${Trouble} problem="It is a fault of the program, and nothing is lost. The other pages go on." onRetry=${() => location.reload()} />` : children
  }
}

/** A page of its own module. */
function Page({ name, ...rest }) {
  const [view, setView] = useState(() => name === 'table' ? { component: Table } : {})
  const [problem, setProblem] = useState(null)
  const main = useRef(null)
  useEffect(() => {
    let gone = false
    PAGES[name]().then(component => gone || setView({ component }), () => gone || setProblem(new Error('This page could not be loaded. Is the server reachable?')))
    main.current?.focus({ preventScroll: true }) // a screen reader begins with the new page
    return () => { gone = true }
  }, [name])
  return html`<main class=${'page page-' + name} id="main" tabindex="-1" ref=${main}>
    <${Trouble} problem=${problem} onRetry=${() => location.reload()} />
    ${view.component ? html`<${Guard}><${view.component} ...${rest} /><//>` : problem ? null : html`<${Waiting} what="the page" />`}
  </main>`
}

function Campaign({ campaign, page, argument, options }) {
  const store = useStore(storeOf(campaign))
  const name = store.campaign?.name ?? 'Campaign'
  useEffect(() => { document.title = `${name} · Tallystick` }, [name])
  const leave = async () => {
    try {
      await signOut(campaign)
      closeStores()
      location.hash = '#/'
    } catch {
      store.notice = 'You are not signed out yet: the server cannot be reached.'
      store.changed()
    }
  }
  const known = PAGES[page] ? page : 'table'
  return html`
    <a class="skip" href="#main" onClick=${e => { e.preventDefault(); document.getElementById('main')?.focus() }}>Skip to the content</a>
    <header class="top">
      <div class="title"><a href="#/" class="mark" aria-label="Tallystick, start page"><img src="/console/icon.svg" alt="" width="28" height="28" /></a>
        <p class="name">${name}</p>
        <${Connection} store=${store} />
        <span class="who">${store.me?.admin ? 'admin, looking on' : `${store.me?.handle}, ${store.gm ? 'game master' : store.me?.role}`}</span>
        ${store.me?.admin ? html`<a class="button plain" href="#/">Campaigns</a>` : html`<button type="button" class="plain" onClick=${leave}>Sign out</button>`}</div>
      <nav aria-label="Pages of the campaign"><ul>${TABS.map(([id, text, also]) => html`<li><a href=${`#/c/${campaign}/${id}`} aria-current=${known === id || known === also ? 'page' : undefined}>${text}</a></li>`)}</ul></nav>
    </header>
    <${Alarm} store=${store} />
    ${store.notice ? html`<div class="notice" role="alert"><p>${store.notice}</p><button type="button" onClick=${() => { store.notice = ''; store.changed() }}>Understood</button></div>` : null}
    ${store.connection === 'lost' && store.problem ? html`<div class="notice" role="status"><p>${store.problem.message} ${store.problem.way ?? ''}</p></div>` : null}
    ${store.waiting.length ? html`<div class="notice" role="status"><p>${store.waiting.length === 1 ? 'One thing' : store.waiting.length + ' things'} you did before the page closed ${store.waiting.length === 1 ? 'is' : 'are'} being sent again, once.</p></div>` : null}
    ${store.connection === 'refused' ? html`<main class="page"><${Trouble} problem=${store.problem} /><p><button type="button" onClick=${leave}>Sign in again</button></p></main>`
      : store.campaign && store.system ? html`<${Page} name=${known} key=${known + (argument ?? '')} store=${store} argument=${argument} options=${options} />`
        : html`<main class="page"><${Waiting} what="the table" />${store.problem ? html`<${Trouble} problem=${store.problem} />` : null}</main>`}
    <${Announce} text=${store.news} />`
}

/** Whether what one sees is what happens now. */
function Connection({ store }) {
  const words = { loading: 'connecting', live: 'live', lost: 'connection lost', refused: 'signed out' }
  return html`<span class=${'connection ' + store.connection} role="status">${words[store.connection]}</span>`
}

/** ROLLBACK and FORK stand above everything, on every page, until somebody has looked. */
function Alarm({ store }) {
  const [open, setOpen] = useState(false)
  if (!store.alarm) return null
  const { kind, text, kept, shown, at } = store.alarm
  const meaning = {
    ROLLBACK: 'The server shows less than it did: something that happened is missing.',
    FORK: 'The server shows another history than the one you saw.',
    ANEW: 'The ledger was begun anew after a loss. Ask the table whether that is what happened.'
  }[kind]
  return html`<section class="alarm" role="alert" aria-labelledby="alarm">
    <h2 id="alarm">${kind}</h2>
    <p><strong>${meaning}</strong> ${text}</p>
    <p>Tell your table now, and compare with what the others have. Keep both texts below: they are signed by the server, and they are the proof.</p>
    <button type="button" aria-expanded=${open} onClick=${() => setOpen(!open)}>${open ? 'Hide' : 'Show'} the two checkpoints</button>
    ${open ? html`<div class="pair"><div><h3>Kept by this device</h3><pre tabindex="0">${kept}</pre></div><div><h3>Shown by the server, ${at.slice(0, 16).replace('T', ' ')} UTC</h3><pre tabindex="0">${shown}</pre></div></div>
      <p><button type="button" onClick=${() => forgetSeen(store.id).then(() => location.reload())}>Forget what this device saw, and trust the server from now on</button></p>` : null}
  </section>`
}


const root = document.getElementById('app')
root.replaceChildren()
render(html`<${App} />`, root)
