// Plays one roll on a running server and prints it. Every type here is made from
// the server's OpenAPI document: a member that is renamed or wrong does not
// compile. Run it with node (22.18 or newer): node night.ts
import type { components, operations } from './api.ts'

type Schemas = components['schemas']
type Answer<Operation extends keyof operations, Status extends number> = operations[Operation] extends {
  responses: { [S in Status]: { content: { 'application/json': infer Body } } }
} ? Body : never

declare const process: { env: Record<string, string | undefined>; exitCode?: number }

const server = process.env['TALLYSTICK_SERVER'] ?? 'http://127.0.0.1:8037'

async function call<Body>(method: 'GET' | 'POST', path: string, token: string, body?: unknown): Promise<Body> {
  const headers: Record<string, string> = { authorization: `Bearer ${token}`, 'idempotency-key': crypto.randomUUID() }
  if (body !== undefined) headers['content-type'] = 'application/json'
  const response = await fetch(server + path, { method, headers, body: body === undefined ? null : JSON.stringify(body) })
  if (!response.ok) {
    const problem = (await response.json()) as Schemas['Problem']
    throw new Error(`${problem.title}: ${problem.detail ?? ''}`)
  }
  return (await response.json()) as Body
}

async function night(admin: string): Promise<void> {
  const asked: Schemas['CampaignRequest'] = { name: 'Night watch', system: 'rpgamix' }
  const made = await call<Answer<'create-campaign', 201>>('POST', '/v1/campaigns', admin, asked)
  const campaign = `/v1/campaigns/${made.campaign}`
  const give = (command: operations['give-command']['requestBody']['content']['application/json']) =>
    call<Answer<'give-command', 200>>('POST', `${campaign}/commands`, made.gm.token, command)

  await give({ type: 'session.open', data: { title: 'First night', kind: 'table' } })
  const rolled = await give({ type: 'roll', data: { expression: '3d6kh2+1', purpose: 'luck' } })
  console.log(`record ${rolled.first}, receipt of ${rolled.receipt.length} characters`)

  const link = await call<Answer<'make-link', 201>>('POST', `${campaign}/links`, made.gm.token, { expression: '2d6' } satisfies Schemas['LinkMakeData'])
  console.log(`whoever has ${link.address ?? 'no address'} rolls ${link.expression} once`)

  const rolls = await call<Answer<'list-rolls', 200>>('GET', `${campaign}/rolls`, made.gm.token)
  for (const roll of rolls.items ?? []) console.log(`record ${roll.n} by ${roll.by}: ${roll.command_type}`)

  // @ts-expect-error: a command that no system has does not compile
  const wrong: Parameters<typeof give>[0] = { type: 'rool', data: {} }
  void wrong
}

const admin = process.env['TALLYSTICK_ADMIN']
if (admin === undefined) throw new Error('TALLYSTICK_ADMIN: the admin token')
await night(admin)
