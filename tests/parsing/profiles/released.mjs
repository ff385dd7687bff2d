// How Node reads a text by a package of each profile: the value behind whether there is one.
// Run by `--eval` in a folder in which the package is installed, or unpacked as `package/`; the profile is the argument.
import { readFileSync, readdirSync } from 'node:fs'

const guarded = (read) => (text) => {
  try {
    return [true, read(text)]
  } catch {
    return [false, null]
  }
}

const readers = {
  async jsonrepair() {
    const { jsonrepair } = await import('jsonrepair')
    return guarded((text) => JSON.parse(jsonrepair(text)))
  },

  // cut out of a bundle, by what stands around it
  async cline() {
    const text = readFileSync('package/dist/lib.mjs', 'utf8')
    const of = String.raw`.{0,90}?for\(let p of (\w+)(?:\(\))?\)`
    const wanted = new RegExp(String.raw`function (\w+)\(t\)\{let e=\[\],r=0${of}${of}.*?,e\}`)
    const [cut, parser, tools, parameters] = text.match(wanted)
    const list = text.match(new RegExp(String.raw`[,;]${parameters}=(\["command",.*?\])`))[1]
    const enumeration = text.match(/\w+=\(\w+=>\(\w+\.ASK="ask_followup_question",.*?\{\}\)/)[0]
    const parse = new Function(`var ${enumeration}; const ${parameters} = ${list}
      const ${tools} = () => Object.values(${enumeration.split('=')[0]})
      const ${cut.match(/call_id:(\w+)\(/)[1]} = () => '1'
      ${cut}; return ${parser}`)()
    return (text) => {
      const call = parse(text).find((block) => block.type === 'tool_use')
      return [call !== undefined, call ? { name: call.name, arguments: call.params } : null]
    }
  },

  async mastra() {
    const folder = 'package/dist'
    const files = readdirSync(folder).filter((name) => name.endsWith('.js'))
    const texts = files.map((name) => readFileSync(`${folder}/${name}`, 'utf8'))
    const text = texts.find((text) => text.includes('function tryRepairJson'))
    const cut = (name) => text.match(new RegExp(`function ${name}\\([^]*?\n}\n`))[0]
    const names = ['sanitizeToolCallInput', 'tryRepairJson', 'convertFullStreamChunkToMastra']
    console.error = () => {}
    const convert = new Function(`${names.map(cut).join('')} return ${names[2]}`)()
    return (input) => {
      const { payload } = convert({ type: 'tool-call', input }, { runId: '1' })
      return [payload.args !== undefined, payload.args ?? null]
    }
  },

  async 'vercel-ai'() {
    const { parsePartialJson } = await import('ai')
    return async (text) => {
      const { state, value } = await parsePartialJson(text)
      return [state !== 'failed-parse', value]
    }
  },

  async 'vercel-ai-tool-call'() {
    const { generateText, jsonSchema, tool } = await import('ai')
    const { MockLanguageModelV4 } = await import('ai/test')
    return async (input) => {
      const content = [{ type: 'tool-call', toolCallId: '1', toolName: 't', input }]
      const rest = { finishReason: { unified: 'tool-calls' }, usage: { inputTokens: {}, outputTokens: {} } }
      const model = new MockLanguageModelV4({ doGenerate: async () => ({ content, warnings: [], ...rest }) })
      const tools = { t: tool({ inputSchema: jsonSchema({}) }) }
      const [call] = (await generateText({ model, tools, prompt: 'x' })).toolCalls
      return [!call.invalid, call.invalid ? null : call.input]
    }
  },

  async 'partial-json'() {
    const { parse } = await import('partial-json')
    return guarded(parse)
  },

  async 'openai-node'() {
    const { parseChatCompletion } = await import('openai/lib/parser')
    const tools = [{ type: 'function', function: { name: 't', strict: true } }]
    return guarded((text) => {
      const call = { type: 'function', function: { name: 't', arguments: text } }
      const choices = [{ finish_reason: 'tool_calls', message: { content: null, tool_calls: [call] } }]
      return parseChatCompletion({ choices }, { tools }).choices[0].message.tool_calls[0].function.parsed_arguments
    })
  },

  // the stream's own reading of what it has gathered, which is lazy
  async 'anthropic-node'() {
    const { MessageStream } = await import('@anthropic-ai/sdk/lib/MessageStream')
    return async (text) => {
      const call = { type: 'tool_use', id: '1', name: 't', input: {} }
      const events = [
        { type: 'message_start', message: { role: 'assistant', content: [], usage: {} } },
        { type: 'content_block_start', index: 0, content_block: call },
        { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: text } },
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: {}, usage: {} },
        { type: 'message_stop' },
      ]
      const lines = events.map((event) => `${JSON.stringify(event)}\n`).join('')
      try {
        const stream = MessageStream.fromReadableStream(new Blob([lines]).stream())
        return [true, (await stream.finalMessage()).content[0].input]
      } catch {
        return [false, null]
      }
    }
  },

  async 'openai-node-stream'() {
    const { partialParse } = await import('openai/_vendor/partial-json-parser/parser.mjs')
    return guarded(partialParse)
  },
}

const read = await readers[process.argv.at(-1)]()
const finite = (_, value) => (typeof value === 'number' && !Number.isFinite(value) ? String(value) : value)
const found = []
for (const text of JSON.parse(readFileSync(0, 'utf8'))) found.push(await read(text))
console.log(JSON.stringify(found, finite))
