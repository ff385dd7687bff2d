// A parser in Node as a profile of Fencepost: FENCEPOST_PROFILES="cmd:node parse.cjs"
// JSON lines on standard input and output: {"text"} -> {"value"} or {"error"}; "calls" has what the hook recorded.
const hook = require("./hook.cjs");
const readline = require("node:readline");

// Put your own parser here, or require it from its file.
function parse(text) {
  const fence = /```json\s*([\s\S]*?)```/.exec(text);
  const inner = fence ? fence[1].trim() : text;
  try {
    return JSON.parse(inner);
  } catch {
    return JSON.parse(inner.replace(/,\s*([}\]])/g, "$1"));
  }
}

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const { text } = hook.parse(line);
  let answer;
  try {
    answer = { value: parse(text) };
  } catch (error) {
    answer = { error: { type: error.name, message: error.message } };
  }
  console.log(JSON.stringify({ ...answer, calls: hook.taken() }));
});
