import { counted, h, seconds } from "./dom.js";
import { distances, peers, runs } from "./lab.js";
import { events, machine, stateOf } from "./machine.js";
import { described, figures, log, output } from "./output.js";
import { timeline } from "./timeline.js";
import { traffic } from "./traffic.js";
import { calls, communicators, faults, shares, waits } from "./waits.js";

// The page: takes the document and what is new of it, and draws the sections that have changed.

const state = { document: {}, output: [], connection: "" };
const RUN = [
  ["errors", "What went wrong", (run) => (run.errors.length ? run.errors.map((one) => h("p", { class: "error" }, one)) : null), true],
  ["machine", "Machine", (run) => machine(run, draw)],
  ["waits", "Who waits for whom", (run, width) => waits(run, width)],
  ["shares", "Where the time goes", shares, true],
  ["communicators", "Communicators", communicators, true],
  ["faults", "Faults of the program", faults, true],
  ["traffic", "Messages between clusters", (run, width) => traffic(run, draw, width), true],
  ["events", "Losses and recoveries", events, true],
  ["calls", "Calls of MPI", calls, true],
  ["timeline", "Time line", (run, width) => timeline(run, width), true],
  ["output", "Output", (run) => output(run, state.output, draw), true],
  ["log", "Log", log, true],
  ["figures", "Figures", figures, true],
  ["described", "What was run", described, true],
];
const LAB = [["peers", "Peers", peers, true], ["distances", "Round trips", distances], ["runs", "Runs", runs]];

function draw() {
  const shown = state.document, sections = { run: RUN, lab: LAB }[shown.kind] ?? []; // nothing is known at first
  const focus = document.activeElement?.id, selection = document.activeElement?.selectionStart;
  document.title = shown.title;
  for (const [name, title, render, isWide] of sections) {
    let section = document.getElementById(name);
    if (!section) {
      section = h("section", { id: name, class: isWide && "wide", "aria-labelledby": `${name}-title` }, h("h2", { id: `${name}-title` }, title), h("div", {}));
      document.getElementById("sections").append(section);
    }
    section.hidden = false;
    const body = section.lastElementChild, open = [...body.querySelectorAll("details")].map((one) => one.open);
    const scrolls = body.querySelector(".scroll")?.scrollLeft;
    const width = body.clientWidth || 600, made = [render(shown, width)].flat(Infinity).filter(Boolean);
    body.replaceChildren(...made);
    [...body.querySelectorAll("details")].forEach((one, at) => { one.open = open[at] ?? false; });
    if (scrolls) body.querySelector(".scroll").scrollLeft = scrolls;
    section.hidden = !made.length;
  }
  head(shown, sections);
  const focused = focus && document.getElementById(focus);
  if (focused && focused !== document.activeElement) {
    focused.focus({ preventScroll: true });
    if (selection !== undefined && selection !== null && focused.setSelectionRange && focused.type !== "button") focused.setSelectionRange(selection, selection);
  }
}

function head(shown, sections) {
  const links = sections.filter(([name]) => !document.getElementById(name).hidden).map(([name, title]) => h("a", { href: `#${name}` }, title));
  document.getElementById("head").replaceChildren(
    h("h1", {}, shown.title, ...(shown.kind === "run" ? badges(shown) : [])),
    h("p", { id: "told" }, (shown.kind === "lab" ? shown.state : shown.headline) ?? ""),
    h("p", { id: "connection", role: "status" }, state.connection), h("nav", { "aria-label": "sections" }, links));
}

function badges(run) {
  const states = new Map();
  for (const one of run.ranks) states.set(stateOf(one), (states.get(stateOf(one)) ?? 0) + 1);
  const style = run.is_over ? (run.code ? "bad" : "done") : /failure|never/.test(run.phase) ? "bad" : run.phase;
  return [h("span", { class: `badge ${style}`, id: "phase" }, run.is_over ? `exit code ${run.code}` : run.phase),
    h("span", { class: "dim", id: "clock" }, seconds(run.time)),
    h("span", { class: "dim", id: "states" }, [...states].map(([name, number]) => `${number} ${name}`).join(", ") || counted(0, "rank"))];
}

function take(news) {
  Object.assign(state.document, news.document);
  if (news.output) {
    const last = state.output.at(-1)?.number ?? 0;
    state.output = [...state.output, ...news.output.filter((one) => one.number > last)].slice(-2000);
  }
  draw();
}

// The token comes behind the # of the address, and is taken out of it at once. Pages from elsewhere
// cannot read what this origin keeps.
function token() {
  if (location.hash.length > 20) {
    sessionStorage.setItem("token", location.hash.slice(1));
    history.replaceState(null, "", location.pathname);
  }
  return sessionStorage.getItem("token");
}

function say(text) {
  state.connection = text;
  draw();
}

/** Read server-sent events: with a header, which EventSource cannot send. */
async function follow(key) {
  for (let pause = 500; ; pause = Math.min(2 * pause, 10000)) {
    try {
      const answer = await fetch("events", { headers: { Authorization: `Bearer ${key}` }, cache: "no-store" });
      if (answer.status === 403) return say("This page needs the address that the command has printed, with its token.");
      if (answer.ok) {
        say("Live: this page changes by itself.");
        pause = 500;
        const end = await events_of(answer.body.pipeThrough(new TextDecoderStream()).getReader());
        if (end === "over") return say("This is how it ended; nothing changes any more.");
        // Another user's process may get the port next: ask there no more.
        if (end === "closed") return say("The command that showed this has ended; what is shown may be old.");
      }
    } catch { /* the server has gone, or the network: try again */ }
    say("The connection is lost; trying again. What is shown may be old.");
    await new Promise((done) => { setTimeout(done, pause); });
  }
}

async function events_of(reader) {
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return "lost";
    const whole = (rest + value).split("\n\n");
    rest = whole.pop();
    for (const one of whole) {
      const name = /^event: (.*)$/m.exec(one)?.[1], data = /^data: (.*)$/m.exec(one)?.[1];
      if (name) return name;
      if (data) take(JSON.parse(data));
    }
  }
}

const first = JSON.parse(document.getElementById("document").textContent);
take(first);
if (first.is_live) {
  const key = token();
  if (key) follow(key);
  else say("This page needs the address that the command has printed, with its token.");
}
let resized = 0;
addEventListener("resize", () => { cancelAnimationFrame(resized); resized = requestAnimationFrame(draw); });
