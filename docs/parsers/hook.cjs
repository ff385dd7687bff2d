// Records what a parser in Node passes to JSON.parse, by replacing that function.
// Load it before the parser: node --require ./hook.cjs parse.js, or require("./hook.cjs") on the first line.
const real = JSON.parse;
const calls = [];

function caller() {
  const lines = (new Error().stack || "").split("\n").slice(3);
  const line = lines.find((each) => !/node:|node_modules/.test(each)) || lines[0] || "";
  const match = /(?:at (?:async )?(.*?) \()?(?:file:\/\/)?([^()\s]+):(\d+):\d+\)?$/.exec(line);
  return match ? { file: match[2], line: Number(match[3]), function: match[1] || "" } : null;
}

JSON.parse = function parse(text, ...rest) {
  const call = { sink: "JSON.parse", text: String(text), site: caller() };
  calls.push(call);
  try {
    const value = real.call(JSON, text, ...rest);
    return Object.assign(call, { ok: true, value: real(JSON.stringify(value)) }) && value;
  } catch (error) {
    Object.assign(call, { ok: false, error: { type: error.name, message: error.message } });
    throw error;
  }
};

// The calls since the previous taken(), for the answer: {"value": …, "calls": taken()}.
module.exports = { taken: () => calls.splice(0), parse: real };
