// The page's own behaviour, without a framework: send, read the stream of events, show each the moment it comes.
// The conversation lives in `turns` and nowhere else: no storage, no cookie, gone with the page.
"use strict";

const LOST =
  "I could not be reached just now. That is not about you. I'm an AI, and the people at the numbers on this page " +
  "answer without me. If you are in danger, please call your local emergency number. You can send your words again.";

const form = document.getElementById("form");
const box = document.getElementById("message");
const log = document.getElementById("log");
const status = document.getElementById("status");
const send = document.getElementById("send");
const key = document.getElementById("key");
const conversation = Array.from(crypto.getRandomValues(new Uint8Array(8)), (n) => n.toString(16)).join("");
const turns = [];
let busy = false;

function make(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text) element.textContent = text;
  return element;
}

// The same links as serving/http/contact_links.py draws.
function waysOf(line) {
  const dial = (number) => String(number).replace(/[^0-9+*#]/g, "");
  const ways = [];
  if (line.phone) ways.push(["tel:" + dial(line.phone), "Call " + line.phone]);
  if (line.sms) {
    const word = line.sms_body;
    const body = word ? "?body=" + encodeURIComponent(word) : "";
    ways.push(["sms:" + dial(line.sms) + body, word ? "Text " + word + " to " + line.sms : "Text " + line.sms]);
  }
  if (!ways.length && line.url && line.url.startsWith("https://")) ways.push([line.url, "Open the website"]);
  return ways.map(([href, label], index) => {
    const link = make("a", "way" + (index ? " second" : "") + (line.kind === "emergency" ? " emergency" : ""), label);
    link.href = href;
    if (href.startsWith("https:")) {
      link.target = "_blank";
      link.rel = "noopener noreferrer";
    }
    return link;
  });
}

function card(line) {
  const item = make("li", "card" + (line.kind === "emergency" ? " emergency" : ""));
  item.append(make("p", "name", line.name));
  const notes = [line.hours, line.option && "on the phone, " + line.option].filter(Boolean).join(" · ");
  if (notes) item.append(make("p", "small", notes));
  const links = waysOf(line);
  if (links.length) {
    const ways = make("p", "ways");
    ways.append(...links);
    item.append(ways);
  }
  return item;
}

function list(lines) {
  const cards = make("ul", "cards");
  cards.append(...lines.map(card));
  return cards;
}

function firstAndRest(lines) {
  const helplines = lines.filter((line) => line.kind !== "emergency").slice(0, 2);
  const first = lines.filter((line) => line.kind === "emergency" || helplines.includes(line));
  return [first, lines.filter((line) => !first.includes(line))];
}

function showCards(lines) {
  const [first, rest] = firstAndRest(lines);
  const parts = [list(first)];
  if (rest.length) {
    const more = make("details", "more");
    more.append(make("summary", "", "More lines and other countries"), list(rest));
    parts.push(more);
  }
  document.getElementById("resources").replaceChildren(...parts);
}

function showWays(turn, lines) {
  const reachable = firstAndRest(lines)[0].filter((line) => line.phone || line.sms);
  const ways = make("p", "ways");
  ways.append(...reachable.flatMap(waysOf));
  turn.querySelector(".ways")?.remove(); // the level was raised, and other lines belong here
  turn.insertBefore(ways, turn.querySelector(".text"));
}

function addTurn(role, text) {
  const turn = make("article", "turn " + role);
  turn.append(make("h3", "who", role === "user" ? "You" : "Reply, written by an AI"), make("p", "text", text));
  log.append(turn);
  return turn;
}

// One reply as it arrives. Sentences are added whole, so that a screen reader speaks whole sentences.
class Reply {
  constructor() {
    this.turn = addTurn("assistant", "");
    this.text = this.turn.querySelector(".text");
    this.text.classList.add("waiting");
    this.crisis = true; // until the service says otherwise, the numbers belong here
    this.inPart = 0;
    this.numbered = false;
    this.done = null;
  }

  take(name, data) {
    if (name === "assessment") this.crisis = data.crisis;
    else if (name === "resources") this.help(data.resources);
    else if (name === "sentence") this.say(data.text);
    else if (name === "done") this.finish(data);
    this.turn.scrollIntoView({ block: "nearest" });
  }

  help(lines) {
    showCards(lines);
    if (this.crisis) showWays(this.turn, lines);
  }

  say(text) {
    const begins = this.breaks(text);
    const blank = begins ? text.length - text.trimStart().length : 0;
    this.text.append(text.slice(0, blank), make("span", begins ? "part" : "", text.slice(blank)));
  }

  // Whether a part of its own begins here: before the first number, and where a part has grown long. Sentences stay whole.
  breaks(text) {
    const first = !this.numbered && /\d{3}/.test(text);
    this.numbered ||= first;
    const begins = this.inPart > 160 || (first && this.inPart > 0);
    this.inPart = begins ? text.length : this.inPart + text.length;
    return begins;
  }

  finish(done) {
    this.done = done;
    this.text.classList.remove("waiting");
    const demo = done.degraded.includes("demo-model") ? " (demo model)" : "";
    const others = done.degraded.filter((reason) => reason !== "demo-model");
    const short = others.length ? " · " + others.join(", ") : "";
    const model = done.model === done.source ? "" : ", " + done.model;
    this.turn.append(make("p", "small source", "Source: " + done.source + model + demo + short));
  }

  fail(message) {
    this.text.classList.remove("waiting");
    this.say((this.text.textContent ? " " : "") + message);
  }
}

async function ask(reply) {
  const headers = { "Content-Type": "application/json", Accept: "text/event-stream" };
  if (key.value) headers.Authorization = "Bearer " + key.value;
  const body = { messages: turns, country: form.elements.country.value || null, conversation_id: conversation, stream: true };
  const response = await fetch("/crisis/respond", { method: "POST", headers, body: JSON.stringify(body) });
  if (!response.ok) {
    const problem = await response.json();
    reply.take("resources", problem);
    reply.fail(problem.error.message);
    return;
  }
  await read(response.body.getReader(), reply);
  if (!reply.done) reply.fail(LOST);
}

async function read(reader, reply) {
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    rest += decoder.decode(value, { stream: !done });
    const events = rest.split("\n\n");
    rest = events.pop();
    events.forEach((event) => takeEvent(event, reply));
    if (done) return;
  }
}

function takeEvent(event, reply) {
  const fields = Object.fromEntries(event.split("\n").map((line) => line.split(/: (.*)/s).slice(0, 2)));
  if (fields.event && fields.data) reply.take(fields.event, JSON.parse(fields.data));
}

function setBusy(now) {
  busy = now;
  send.setAttribute("aria-disabled", String(now));
  status.textContent = now ? "Sent. An answer is coming." : "";
}

async function submit(event) {
  event.preventDefault();
  const words = box.value.trim();
  if (busy || !words) return;
  setBusy(true);
  turns.push({ role: "user", content: words });
  addTurn("user", words);
  box.value = "";
  box.focus();
  const reply = new Reply();
  try {
    await ask(reply);
  } catch {
    reply.fail(LOST);
  }
  if (reply.done) turns.push({ role: "assistant", content: reply.done.reply });
  else box.value = turns.pop().content; // nothing is lost: the words are back in the box
  setBusy(false);
}

function onKey(event) {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  form.requestSubmit();
}

async function onCountry() {
  const headers = key.value ? { Authorization: "Bearer " + key.value } : {};
  const country = encodeURIComponent(form.elements.country.value);
  try {
    const response = await fetch("/crisis/resources?country=" + country, { headers });
    showCards((await response.json()).resources);
  } catch {
    // the numbers that are shown stay
  }
}

function leave() {
  turns.length = 0;
  log.replaceChildren();
  form.reset();
  location.replace("about:blank");
}

function carryOver() {
  const history = form.elements.history.value; // from an answer that came without scripts
  if (history) turns.push(...JSON.parse(history).turns);
}

carryOver();
form.addEventListener("submit", submit);
box.addEventListener("keydown", onKey);
form.elements.country.addEventListener("change", onCountry);
const leaveButton = document.getElementById("leave");
leaveButton.hidden = false;
leaveButton.addEventListener("click", leave);
