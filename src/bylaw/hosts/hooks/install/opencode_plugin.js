// Bylaw in OpenCode: runs `bylaw hook opencode EVENT` at each event, and obeys the answer.
// Options: {"python": "the interpreter that has Bylaw"}. The Python module for OpenCode describes
// input and output. Gates fail closed.
import { spawn } from "node:child_process"

const GATES = new Set(["chat.message", "tool.execute.before"])
const STOP = "session.idle"
// Longer than Bylaw itself waits, so that Bylaw decides what a timeout means.
const PATIENCE_MS = 60_000
const STOP_PATIENCE_MS = 600_000
const PARENT_PATIENCE_MS = 5_000
const WAY_OUT = "see `bylaw doctor`; to work without Bylaw, a person can run `bylaw uninstall opencode`"

function asked(python, event, payload) {
  return new Promise((resolve, reject) => {
    if (!python) throw new Error("the option `python` of the plugin is missing")
    const child = spawn(python, ["-I", "-m", "bylaw", "hook", "opencode", event], {
      cwd: payload.cwd,
      stdio: ["pipe", "pipe", "ignore"],
    })
    const said = []
    const patience = event === STOP ? STOP_PATIENCE_MS : PATIENCE_MS
    const timer = setTimeout(() => {
      child.kill("SIGKILL")
      reject(new Error(`it took longer than ${patience / 1000} s`))
    }, patience)
    child.on("error", (wrong) => (clearTimeout(timer), reject(wrong)))
    child.on("close", (code, signal) => {
      clearTimeout(timer)
      const answer = parsed(Buffer.concat(said).toString("utf8"))
      answer ? resolve(answer) : reject(new Error(`it exited with ${signal ?? code} and no answer`))
    })
    child.stdout.on("data", (piece) => said.push(piece))
    child.stdin.on("error", () => {}) // it may answer before it has read everything
    child.stdin.end(JSON.stringify(payload))
  })
}

function parsed(text) {
  try {
    const answer = JSON.parse(text)
    return answer && typeof answer === "object" && !Array.isArray(answer) ? answer : undefined
  } catch {
    return undefined
  }
}

async function within(patience, ask) {
  let timer
  const late = new Promise((resolve) => (timer = setTimeout(resolve, patience)))
  try {
    return await Promise.race([ask(), late])
  } catch {
    return undefined
  } finally {
    clearTimeout(timer)
  }
}

export const Bylaw = async ({ client, directory }, options) => {
  // The session of a subagent → that of the agent which started it; of a main agent → "".
  const parents = new Map()

  // Ask the client about a session that began in another process. Until it answers, the session
  // counts as one of a main agent.
  async function parentOf(session) {
    if (!parents.has(session)) {
      const found = await within(PARENT_PATIENCE_MS, () => client.session.get({ path: { id: session } }))
      if (found?.data?.id === session) parents.set(session, found.data.parentID || "")
    }
    return parents.get(session) || ""
  }

  // An error thrown at a prompt appears only in the log of the server, so show a message, too.
  async function refused(event, why) {
    const body = { title: "Bylaw", message: why, variant: "error", duration: 20_000 }
    if (event === "chat.message") await client.tui.showToast({ body }).catch(() => {})
    await client.app.log({ body: { service: "bylaw", level: "error", message: why } }).catch(() => {})
    throw new Error(why)
  }

  async function ask(event, session, more = {}) {
    let main = session
    for (let next = session; next; next = await parentOf(next)) main = next
    const agent = main === session ? "" : session
    const payload = { session_id: main, agent, cwd: directory, ...more }
    let answer
    try {
      answer = await asked(options?.python, event, payload)
    } catch (wrong) {
      const why = `bylaw failed, so nothing is allowed: ${wrong.message}; ${WAY_OUT}`
      return GATES.has(event) ? refused(event, why) : { context: [] }
    }
    if (answer.decision === "block" && GATES.has(event)) await refused(event, answer.reason || "denied by Bylaw")
    return { context: Array.isArray(answer.context) ? answer.context : [] }
  }

  async function lastWords(session) {
    try {
      const { data } = await client.session.messages({ path: { id: session } })
      const last = data.findLast((one) => one.info.role === "assistant")
      return textOf(last?.parts ?? [])
    } catch {
      return undefined
    }
  }

  const EVENTS = {
    "session.created": async ({ info }) => {
      if (info) parents.set(info.id, info.parentID || "")
      if (info && !info.parentID) await ask("session.created", info.id)
    },
    "session.deleted": async ({ info }) => void parents.delete(info?.id),
    [STOP]: async ({ sessionID }) => {
      // OpenCode cannot block a stop: Bylaw sends the reason at the next event.
      await ask(STOP, sessionID, { text: await lastWords(sessionID) })
    },
  }

  return {
    event: async ({ event }) => EVENTS[event.type]?.(event.properties ?? {}),
    "chat.message": async ({ sessionID }, output) => {
      const { context } = await ask("chat.message", sessionID, { text: textOf(output.parts) })
      const like = output.parts.find((part) => part.type === "text") ?? output.parts[0]
      context.forEach((text, index) => {
        const id = `prt_hook${Date.now()}${index}`
        output.parts.push({ ...like, type: "text", id, text, synthetic: true })
      })
    },
    "tool.execute.before": async ({ tool, sessionID, callID }, { args }) => {
      await ask("tool.execute.before", sessionID, { tool, args: args ?? {}, call_id: callID })
    },
    "tool.execute.after": async ({ tool, sessionID, callID, args }, output) => {
      const { output: said, metadata, error } = output ?? {}
      const call = { tool, args: args ?? {}, call_id: callID, output: said, metadata, error }
      const { context } = await ask("tool.execute.after", sessionID, call)
      if (context.length && output) output.output = [said, ...context].filter(Boolean).join("\n\n")
    },
  }
}

function textOf(parts) {
  return parts.filter((part) => part.type === "text" && !part.synthetic).map((part) => part.text).join("\n")
}
