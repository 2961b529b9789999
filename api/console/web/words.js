// Records and numbers in words. What is not known here is shown by its name, so that a new rule system needs no page.

const UNITS = [[31536000, 'year'], [604800, 'week'], [86400, 'day'], [3600, 'hour'], [60, 'minute'], [1, 'second']]

/** A length of game time: "3 hours 20 minutes", two units at most. */
export function duration(seconds) {
  if (seconds === 0) return 'no time'
  const parts = []
  let rest = Math.abs(seconds)
  for (const [size, name] of UNITS) {
    const n = Math.floor(rest / size)
    rest %= size
    if (n > 0) parts.push(`${n} ${name}${n === 1 ? '' : 's'}`)
    if (parts.length === 2 || (parts.length === 1 && n === 0)) break
  }
  return parts.join(' ')
}

/** A moment of game time: "day 2, 08:00:00". */
export function gameTime(seconds) {
  const two = n => String(n).padStart(2, '0')
  return `day ${Math.floor(seconds / 86400) + 1}, ${two(Math.floor(seconds / 3600) % 24)}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`
}

/** When something is due: "in 3 hours", "now", "2 minutes ago". */
export function until(due, clock) {
  if (due === clock) return 'now'
  return due > clock ? 'in ' + duration(due - clock) : duration(clock - due) + ' ago'
}

export const wallTime = at => new Date(at).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
export const wallDate = at => new Date(at).toLocaleString([], { dateStyle: 'medium', timeStyle: 'short', hourCycle: 'h23' })
export const signed = n => n > 0 ? '+' + n : n < 0 ? '\u2212' + -n : '0'
export const capital = text => text ? text[0].toUpperCase() + text.slice(1) : text
/** distance_cm -> Distance cm; rpgamix.exert -> Rpgamix exert */
export const label = name => capital(String(name).replace(/[_.]/g, ' '))
/** A count with its word. */
export const count = (n, word, words = word + 's') => `${n} ${n === 1 ? word : words}`

/** Dice of a throw as text: "d10: 7", "2d6: 3, 5". Only as many as are its own. */
export function faces(draws) {
  const groups = []
  for (const [sides, face] of draws) {
    const last = groups.at(-1)
    if (last?.sides === sides) last.faces.push(face)
    else groups.push({ sides, faces: [face] })
  }
  return groups.map(g => `${g.faces.length > 1 ? g.faces.length : ''}d${g.sides}: ${g.faces.join(', ')}`).join('; ')
}

/** How many of a roll's draws are the first throw's own: the rest belong to what followed. */
export const ownDraws = roll => roll.draws.slice(0, roll.draws.length - (roll.also ?? []).reduce((n, t) => n + (t.draws?.length ?? 0), 0))

const MANY = 12 // dice that one adds up in one's head

/** "7 + 3 = 10 against 8: success by 2" */
export function reckoning(throwing, draws = throwing.draws ?? []) {
  const modifiers = (throwing.modifiers ?? []).filter(m => m.value !== 0)
  const sum = draws.reduce((n, [, face]) => n + face, 0)
  const added = modifiers.reduce((n, m) => n + m.value, 0)
  const plain = sum + added === throwing.total
  const shown = draws.map(([, face]) => face).join(' + ')
  let text = draws.length > MANY ? `${throwing.total} with ${draws.length} dice` : plain && (draws.length > 1 || modifiers.length > 0)
    ? `${shown}${modifiers.map(m => ` ${m.value < 0 ? '\u2212' : '+'} ${Math.abs(m.value)}`).join('')} = ${throwing.total}`
    : String(throwing.total)
  if (!plain && draws.length > 0 && draws.length <= MANY) text = `${throwing.total} (${faces(draws)})`
  if (throwing.against) text += ` against ${throwing.against.exact ?? throwing.against.value}`
  if (throwing.outcome) text += `: ${throwing.outcome}`
  if (/^(success|failure|hit|miss|win|won|los)/i.test(throwing.outcome ?? '') && throwing.margin) text += ` by ${Math.abs(throwing.margin)}`
  return text
}

/** The first sentence about a roll. @param {(id: string) => string} name */
export function rollSentence(roll, name) {
  const who = roll.character ? name(roll.character) + ', ' : ''
  return `${capital(who + (roll.purpose || roll.expression))}: ${reckoning(roll, ownDraws(roll))}`
}

/**
 * Who may see what is sealed, besides the server: "you", "mara and the game master".
 * @param {string|string[]} visibility @param {string} by who rolled @param {{handle: string, role: string}[]} people @param {string} me
 */
export function circle(visibility = 'private', by, people, me) {
  const masters = people.filter(p => p.role === 'gm').map(p => p.handle)
  const handles = new Set([...visibility === 'blind' ? [] : visibility === 'private' ? [by] : [by, ...visibility], ...masters])
  const yours = handles.delete(me) ? ['you'] : []
  const called = h => masters.length === 1 && h === masters[0] ? 'the game master' : h
  const all = [...yours, ...[...handles].map(called)]
  return all.length > 1 ? `${all.slice(0, -1).join(', ')} and ${all.at(-1)}` : all[0]
}

/**
 * What a record says, for the log.
 * kind: roll, harm, heal, death, time, table, other; muted ones are of little interest in play.
 * @param {object} rec @param {(id: string) => string} name of a character
 * @param {{secrets: Map<number, object>, circle: (visibility: any, by: string) => string}} [eyes] what the reader may see of secrets
 * @returns {{text: string, kind: string, muted?: boolean, roll?: boolean}}
 */
export function tell(rec, name, eyes) {
  const d = rec.data ?? {}
  const who = d.character ? name(d.character) : ''
  const stands = d.after ? ` (${d.after.health.points} of ${d.after.health.max}, ${d.after.health.rank})` : ''
  const teller = TELLERS[rec.type]
  if (teller) return teller(d, who, stands, rec, name, eyes)
  const first = Object.entries(d).filter(([k, v]) => !['character', 'after', 'rule', 'session'].includes(k) && typeof v !== 'object').slice(0, 3)
  return { kind: 'other', text: `${who ? who + ': ' : ''}${label(rec.type.replace(/^[a-z]+\.(?=.*\.)/, ''))}${first.length ? ' — ' + first.map(([k, v]) => `${v === false ? 'not ' : ''}${label(k).toLowerCase()}${typeof v === 'boolean' ? '' : ' ' + v}`).join(', ') : ''}` }
}

/** "1 day passes", "3 hours pass" */
const passing = ({ from, to }, one, several) => { const text = duration(to - from); return `${text} ${/^(1|no) \w+$/.test(text) ? one : several}` }

const roll = (d, rec, name) => ({ kind: 'roll', roll: true, text: rollSentence(d, name) + (d.source === 'physical' ? ' (typed in)' : '') })

const TELLERS = {
  'campaign.created': d => ({ kind: 'table', text: `The campaign ${d.name} begins, by the rules of ${d.system}` }),
  'setting.defined': d => ({ kind: 'table', text: `The setting changes: ${d.reason}` }),
  'participant.joined': d => ({ kind: 'table', text: `${d.name || d.handle} joins as ${d.role === 'gm' ? 'game master' : d.role}` }),
  'participant.left': d => ({ kind: 'table', text: `${d.handle} leaves the table` }),
  'session.opened': d => ({ kind: 'table', text: `Session opens: ${d.title}` }),
  'session.closed': d => ({ kind: 'table', text: `Session closes: ${count(d.rolls, 'roll')}, ${d.typed_in} typed in` + (d.unopened ? `, ${count(d.unopened, 'secret')} never opened` : '') + (d.voided ? `, ${d.voided} taken back` : '') + (d.passed ? `, ${count(d.passed, 'witness', 'witnesses')} passed over` : '') }),
  'seat.taken': d => ({ kind: 'table', muted: true, text: `${{ system: 'The clock', 'gm-secret': 'The game master' }[d.principal] ?? d.principal} has a seat${d.secret || d.principal === 'gm-secret' ? ' for secret rolls' : ''}${d.c0 === '-' ? '' : ', with a device of their own'}` }),
  'seating.closed': d => ({ kind: 'table', muted: true, text: `The seats are closed${d.ask.length ? `: ${count(d.ask.length, 'device')} asked for a secret` : ''}` }),
  'seat.revealed': d => ({ kind: 'table', muted: true, text: `The device of ${d.lane} gives its secret` }),
  'seating.sealed': d => ({ kind: 'table', muted: true, text: d.missing.length ? `The seats are sealed without ${d.missing.join(', ')}` : 'The seats are sealed: the dice of the evening are fixed' }),
  'roll.made': (d, who, s, rec, name) => roll(d, rec, name),
  'roll.resolved': (d, who, s, rec, name) => ({ ...roll(d, rec, name), text: rollSentence(d, name) + ' (declared and witnessed)' }),
  'roll.sealed': (d, who, s, rec, name, eyes) => {
    const seen = eyes?.secrets.get(rec.n)
    return { kind: 'roll', text: `${rec.by} rolls in secret${eyes ? `, for ${eyes.circle(d.visibility, rec.by)} only` : ''}${seen ? `: ${rollSentence(seen, name)}` : ''}` }
  },
  'roll.widened': (d, who, s, rec, name, eyes) => ({ kind: 'roll', text: `${rec.by} shows the secret roll of record ${d.sealed} to more people${eyes?.secrets.has(d.sealed) ? ': ' + rollSentence(eyes.secrets.get(d.sealed), name) : ''}` }),
  'roll.opened': (d, who, s, rec, name) => {
    try { return { kind: 'roll', text: `The secret roll of record ${d.sealed} is opened: ${rollSentence(JSON.parse(d.payload), name)}` } } catch { return { kind: 'roll', text: `The secret roll of record ${d.sealed} is opened` } }
  },
  'target.sealed': (d, who, s, rec, name, eyes) => {
    const seen = eyes?.secrets.get(rec.n)
    return { kind: 'roll', text: `${rec.by} fixes a hidden target${seen ? `: ${seen.value}${seen.purpose ? ', ' + seen.purpose : ''}` : ''}` }
  },
  'target.opened': d => ({ kind: 'roll', text: `The hidden target was ${d.value}: ${d.rolls.map(r => r.outcome).join(', ') || 'nobody rolled against it'}` }),
  'roll.declared': d => ({ kind: 'roll', text: `${d.lane} declares a roll: ${d.purpose}. ${d.witness.lane} witnesses it` }),
  'roll.passed': d => ({ kind: 'roll', text: `${d.lane} did not answer and is passed over; ${d.next.lane} witnesses` }),
  'roll.voided': d => ({ kind: 'roll', text: `The declared roll is taken back: ${d.reason}` }),
  'character.created': d => ({ kind: 'table', text: `${d.name} enters the story${d.owner ? `, played by ${d.owner}` : ''}` }),
  'character.amended': (d, who) => ({ kind: 'table', text: `The sheet of ${who} changes: ${d.reason}` }),
  'character.retired': (d, who) => ({ kind: 'table', text: `${who} leaves the story: ${d.reason}` }),
  'character.died': (d, who) => ({ kind: 'death', text: `${who} dies: ${d.cause}` }),
  'character.restored': (d, who, stands) => ({ kind: 'heal', text: `${who} is as if it had not happened${stands}` }),
  'wound.inflicted': (d, who, stands) => ({ kind: 'harm', text: `${who} is wounded${d.level ? ', ' + d.level : d.points ? ' for ' + count(d.points, 'point') : ''}: ${d.cause}${stands}` }),
  'wound.treated': (d, who, stands) => ({ kind: 'heal', text: `${who} is treated: ${d.outcome}${stands}` }),
  'heal.granted': (d, who, stands) => ({ kind: 'heal', text: `${who} heals ${count(d.points, 'point')}: ${d.cause}${stands}` }),
  'tick.processed': (d, who, stands) => ({ kind: d.change < 0 ? 'harm' : d.change > 0 ? 'heal' : 'time', muted: d.change === 0, text: `${who}, check of the ${d.kind}: ${d.change < 0 ? `loses ${count(-d.change, 'point')}` : d.change > 0 ? `wins back ${count(d.change, 'point')}` : 'no change'}${stands}` }),
  'condition.gained': (d, who) => ({ kind: 'harm', text: `${who} is ${d.condition}` }),
  'condition.ended': (d, who) => ({ kind: 'heal', text: `${who} is no longer ${d.condition}` }),
  'clock.advancing': d => ({ kind: 'time', text: `${capital(passing(d, 'begins', 'begin'))} to pass` }),
  'clock.advanced': d => ({ kind: 'time', text: `${capital(passing(d, 'passes', 'pass'))}: ${count(d.ticks, 'check')} on the way${d.stopped ? '. Stopped: ' + d.stopped : ''}` }),
  'tempo.set': d => ({ kind: 'time', text: `Game time follows the clock on the wall: ${duration(d.game)} in ${duration(d.wall)}` }),
  'tempo.paused': d => ({ kind: 'time', text: `Game time stands still${d.reason ? ': ' + d.reason : ''}` }),
  'tempo.resumed': () => ({ kind: 'time', text: 'Game time goes on' }),
  'tempo.warned': (d, who) => ({ kind: 'harm', text: `${who} could die of the check of the ${d.kind} that is due at ${wallDate(d.when)}` }),
  'tempo.held': (d, who) => ({ kind: 'harm', text: `Game time is held: ${who} could die of the check of the ${d.kind} that is due` }),
  'link.made': (d, who, s, rec) => ({ kind: 'roll', text: `${rec.by} makes a link that rolls ${d.expression} once${d.purpose ? ': ' + d.purpose : ''}` }),
  'link.rolled': d => ({ kind: 'roll', muted: true, text: `Record ${d.roll} was rolled by a link` }),
  'note.added': (d, who, s, rec) => ({ kind: 'table', text: `${rec.by} notes: ${d.text}` }),
  'dispute.opened': (d, who, s, rec) => ({ kind: 'table', text: `${rec.by} disputes record ${d.roll}: ${d.question}` }),
  'dispute.ruled': d => ({ kind: 'table', text: `The dispute is ruled ${d.ruling}: ${d.reason}` }),
  'ruling.made': d => ({ kind: 'table', text: `The game master rules over record ${d.roll}: ${d.outcome}. ${d.reason}` }),
  'ruling.sealed': (d, who, s, rec, name, eyes) => {
    const seen = eyes?.secrets.get(rec.n)
    return { kind: 'table', text: `${rec.by} rules, and it is shown later${seen ? `: over record ${seen.roll}, ${seen.outcome ? seen.outcome + '. ' : ''}${seen.reason}` : ''}` }
  },
  'ruling.opened': d => ({ kind: 'table', text: `The game master ruled over record ${d.roll}: ${d.outcome ? d.outcome + '. ' : ''}${d.reason}` }),
  'correction.continued': d => ({ kind: 'table', muted: true, text: 'More is taken back' + (d.questioned?.length ? `: ${count(d.questioned.length, 'later roll')} to look at again` : '') }),
  'ledger.recovered': d => ({ kind: 'table', text: `The ledger is begun anew after a loss: ${count(d.size, 'record')} were left` }),
  'key.rotated': () => ({ kind: 'table', text: 'The ledger is signed with a new key from here on, and the old key names it' }),
  'correction.made': d => ({ kind: 'table', text: `Taken back: ${d.reason}` + (d.questioned?.length ? ` (${count(d.questioned.length, 'later roll')} to look at again)` : '') })
}

/** A rank as one of six steps from good (0) to the end (5), for its colour. */
export const rankStep = (ranks, rank) => {
  const i = ranks.indexOf(rank)
  return i < 0 ? 2 : Math.round(5 * i / Math.max(ranks.length - 1, 1))
}

/** All named things of a sheet, to choose from: keys of its maps, and names in its lists. */
export function namesIn(sheet, member) {
  const part = sheet?.[member]
  if (Array.isArray(part)) return part.map(p => typeof p === 'string' ? p : p?.name).filter(Boolean)
  return part && typeof part === 'object' ? Object.keys(part) : []
}
