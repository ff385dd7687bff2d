// Dumps: drop files and folders, send them one after the other, a row each from the start; cancel, send again.
"use strict";
{
  const form = document.getElementById("send");
  const said = document.getElementById("said");
  const queue = [];
  let current = null;

  function size(bytes) {
    let unit = 0;
    for (; bytes >= 1000 && unit < 3; unit += 1) bytes /= 1000;
    return `${bytes.toFixed(unit && bytes < 100 ? 1 : 0)} ${["bytes", "kB", "MB", "GB"][unit]}`;
  }
  const LOST = "The connection was lost. Check that the server runs, then send it again; "
    + "nothing is stored twice.";
  const WORDS = {
    401: "You are signed out. Reload the page, sign in, and send it again.",
    413: "It is larger than this server accepts. Raise FENCEPOST_MAX_UPLOAD, or use fencepost ingest FILE.",
    503: "The database is busy, perhaps with a large dump. Send it again in a moment.",
    507: "The server's disk is full. Make room in its data folder, then send it again.",
  };

  // --- rows
  function rowOf(file, name) {
    const row = document.getElementById("sending").content.firstElementChild.cloneNode(true);
    const [words, bar, tag] = ["[data-said]", "progress", ".tag"].map((selector) => row.querySelector(selector));
    const item = { file, name, row, words, bar, tag, request: null };
    row.querySelector(".id").textContent = name;
    row.querySelector("[data-size]").textContent = size(file.size);
    item.bar.setAttribute("aria-label", `sending ${name}`);
    row.querySelector("[data-cancel]").onclick = () => stop(item);
    row.querySelector("[data-resend]").onclick = () => { state(item, "waiting", "waiting to be sent"); queue.push(item); next(); };
    document.getElementById("sent").append(row);
    document.querySelector("table.dumps").hidden = false;
    document.getElementById("none")?.remove();
    return item;
  }

  function state(item, tag, words, over = "") {
    item.tag.textContent = tag;
    item.tag.className = `tag ${over}`;
    item.words.textContent = words;
    item.words.className = over === "bad" ? "bad" : "soft";
    item.bar.hidden = Boolean(over && over !== "edit");
    item.row.querySelector("[data-cancel]").hidden = item.bar.hidden;
    item.row.querySelector("[data-resend]").hidden = !item.bar.hidden;
    if (over === "bad") said.textContent = `${item.name}: ${words}`;
  }

  function stop(item) {
    if (item.request) { item.request.abort(); return; }
    const at = queue.indexOf(item);
    if (at >= 0) queue.splice(at, 1);
    state(item, "cancelled", "Cancelled before it was sent: nothing was stored.", "drop");
  }

  // --- sending
  function next() {
    if (current || !queue.length) return;
    current = queue.shift();
    send(current).then(() => { current = null; next(); });
  }

  function send(item) {
    const { file, bar } = item;
    if (file.size > Number(form.dataset.max)) { state(item, "not sent", WORDS[413], "bad"); return Promise.resolve(); }
    const body = new FormData();
    for (const name of ["map", "home", "session_key", "ask"]) {
      const choice = form.querySelector(`[name=${name}]`);
      if (choice?.value && (choice.type !== "checkbox" || choice.checked)) body.append(name, choice.value);
    }
    body.append("file", file, item.name);
    const request = item.request = new XMLHttpRequest();
    request.open("POST", form.action);
    request.setRequestHeader("HX-Request-Type", "partial");
    state(item, "sending", "sending", "edit");
    bar.max = file.size || 1;
    bar.value = 0;
    request.upload.onprogress = (event) => {
      bar.value = Math.min(event.loaded, bar.max);
      item.words.textContent = `sending, ${size(Math.min(event.loaded, file.size))} of ${size(file.size)}`;
    };
    request.upload.onload = () => { bar.removeAttribute("value"); item.words.textContent = "sent, being read"; };
    return new Promise((done) => {
      request.onloadend = () => { item.request = null; done(); };
      request.onabort = () => state(item, "cancelled", "Cancelled while it was sent: nothing was stored.", "drop");
      request.onerror = () => state(item, "not sent", LOST, "bad");
      request.onload = () => answered(item, request);
      request.send(body);
    });
  }

  function answered(item, request) {
    const parsed = document.createElement("template");
    parsed.innerHTML = request.responseText;
    const rows = [...parsed.content.querySelectorAll("tr")];
    if (!rows.length) {
      const status = new URL(request.responseURL).pathname.endsWith("/login") ? 401 : request.status;
      const words = WORDS[status] || `The server answered ${status}. Its log says why; send it again when that is fixed.`;
      state(item, "not stored", words, "bad");
      return;
    }
    const here = item.row.contains(document.activeElement);
    for (const row of rows) document.getElementById(row.id)?.remove();
    item.row.replaceWith(...rows);
    for (const row of rows) window.htmx?.process(row);
    if (here) rows[0].querySelector("[data-row]")?.focus();
    said.textContent = `${item.name}: ${request.status === 200 ? "received" : "could not be read"}`;
    ask();
  }

  // --- which parser the sessions that came use: asked anew when more came, unless somebody is about to answer
  async function ask() {
    const asking = document.getElementById("asking");
    if (!asking || asking.contains(document.activeElement)) return;
    const answer = await fetch(asking.dataset.url);
    if (!answer.ok) return;
    asking.innerHTML = await answer.text();
    window.htmx?.process(asking);
  }
  document.addEventListener("htmx:after:swap", () => {
    const reading = document.querySelectorAll("table.dumps progress").length;
    if (!reading && ask.reading) ask();
    ask.reading = reading;
  });

  function add(files) {
    for (const [file, name] of files) queue.push(rowOf(file, name));
    next();
  }

  // --- choosing and dropping
  async function within(entry) {
    if (entry.isFile) {
      const file = await new Promise((done, failed) => { entry.file(done, failed); });
      return [[file, entry.fullPath.replace(/^\//, "")]];
    }
    const reader = entry.createReader();
    const found = [];
    for (;;) {
      const some = await new Promise((done, failed) => { reader.readEntries(done, failed); });
      if (!some.length) return found;
      for (const inner of some) if (!inner.name.startsWith(".")) found.push(...await within(inner));
    }
  }

  async function dropped(transfer) {
    const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
    if (!entries.length) { add([...transfer.files].map((file) => [file, file.name])); return; }
    for (const entry of entries) {
      try { add(await within(entry)); } catch { said.textContent = `${entry.name} cannot be opened.`; }
    }
  }

  if (form) {
    for (const name of ["dragover", "dragleave", "drop"]) {
      document.addEventListener(name, (event) => {
        if (!event.dataTransfer?.types.includes("Files")) return;
        event.preventDefault();
        form.classList.toggle("over", name === "dragover");
        if (name === "drop") dropped(event.dataTransfer);
      });
    }
    const inputs = [...form.querySelectorAll("input[type=file]")];
    const chosen = () => {
      add(inputs.flatMap((input) => [...input.files]).map((file) => [file, file.webkitRelativePath || file.name]));
      for (const input of inputs) input.value = "";
    };
    for (const input of inputs) input.addEventListener("change", chosen);
    if (inputs.some((input) => input.files.length)) chosen();  // before this script had loaded, on a slow connection
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (inputs.some((input) => input.files.length)) chosen(); else inputs[0].click();
    });
    window.addEventListener("beforeunload", (event) => { if (current) event.preventDefault(); });
  }

  // --- x: the marked row's cancel button, or the first there is
  document.getElementById("stop")?.addEventListener("click", () => {
    const row = document.activeElement?.closest("tr");
    const shown = (root) => [...root.querySelectorAll("[data-cancel]")].find((button) => !button.hidden);
    ((row && shown(row)) || shown(document))?.click();
  });
}
