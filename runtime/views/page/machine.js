import { bytes, counted, h, legend, seconds, table } from "./dom.js";

// The machine: sites, clusters, and each rank as a button in the colour of its state.

/** The states of ranks, in the order in which they come. */
export const STATES = ["planned", "queued", "starting", "up", "ready", "running", "waiting", "stuck", "done", "ended", "failed", "lost"];

/** The state that is drawn of a rank: one that runs and was seen in a call waits. */
export function stateOf(rank) {
  return rank.state === "running" && rank.wait ? "waiting" : rank.state;
}

export const label = (rank) => (rank.number === null ? rank.id : rank.replica ? `${rank.number}.${rank.replica}` : `${rank.number}`);

let selected = null;

export function machine(run, redraw) {
  if (!run.sites.length) return null;
  const byCluster = Map.groupBy ? Map.groupBy(run.ranks, (one) => one.cluster) : grouped(run.ranks);
  const shown = new Set();
  const tiles = (cluster) => (byCluster.get(cluster.id) ?? []).map((rank) => {
    const state = stateOf(rank);
    shown.add(state);
    const isFirst = selected === null ? rank === run.ranks[0] : rank.id === selected;
    return h("button", {
      id: `rank-${rank.id}`, class: `rank ${state}`, type: "button", tabindex: isFirst ? 0 : -1,
      "aria-pressed": `${rank.id === selected}`, "aria-label": `${rank.name}: ${state}`, title: `${rank.name}: ${state}${rank.wait ? ` in ${rank.wait.text}` : ""}`,
      click: () => { selected = rank.id === selected ? null : rank.id; redraw(); },
    }, label(rank));
  });
  const sites = run.sites.map((site) => h("div", { class: "site" },
    h("h3", {}, h("span", { class: "dim" }, "site "), site.name),
    site.clusters.map((cluster) => h("div", { class: "cluster" },
      h("p", {}, h("strong", {}, cluster.name), h("span", { class: `badge ${cluster.state}` }, cluster.words),
        h("span", { class: "dim" }, `${counted(cluster.ranks, "rank")}, ${cluster.application}${walltime(cluster, run)}`)),
      h("div", { class: "ranks", role: "group", "aria-label": `ranks of ${cluster.name}` }, tiles(cluster))))));
  const others = run.others.map((one) => h("p", {}, `${one.name}: `, h("span", { class: `badge ${one.state}` }, one.words)));
  return [h("div", { keydown: (event) => move(event, run.ranks) }, sites), others,
    legend(STATES.filter((state) => shown.has(state)).map((state) => [state, state])), details(run)];
}

const walltime = (cluster, run) => (cluster.walltime_ends === null || run.is_over ? "" : `, ${seconds(Math.max(0, cluster.walltime_ends - run.time))} of walltime left`);

function grouped(ranks) {
  const found = new Map();
  for (const one of ranks) found.set(one.cluster, [...(found.get(one.cluster) ?? []), one]);
  return found;
}

const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

function move(event, ranks) {
  const at = ranks.findIndex((one) => `rank-${one.id}` === event.target.id);
  const next = { Home: 0, End: ranks.length - 1 }[event.key] ?? at + (STEPS[event.key] ?? 0);
  if (at < 0 || next === at || !ranks[next]) return;
  event.preventDefault();
  document.getElementById(`rank-${ranks[next].id}`).focus();
}

function details(run) {
  const rank = run.ranks.find((one) => one.id === selected);
  if (!rank) return h("p", { class: "dim" }, "Choose a rank to see what it does; arrow keys move between ranks.");
  const wait = rank.wait;
  const rows = [
    ["state", stateOf(rank) + (rank.detail ? `, ${rank.detail}` : "")],
    ["host", rank.pid ? `${rank.host}, process ${rank.pid}` : rank.host],
    ["MPI", rank.mpi],
    ["waits", wait && `for ${seconds(Math.max(0, run.time - wait.begun))} in ${wait.text}${wait.where ? `, at ${wait.where}` : ""}`],
    ["memory", rank.memory ? bytes(rank.memory) : ""],
    ["processor time", rank.cpu ? seconds(rank.cpu) : ""],
    ["started", rank.starts > 1 ? `${rank.starts} times` : ""],
    ["exit code", rank.code === null ? "" : `${rank.code}`],
  ].filter(([, value]) => value);
  return h("div", { "aria-live": "polite", id: "details" }, h("h3", {}, rank.name), h("dl", {}, rows.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])));
}

/** Losses and recoveries, in order. */
export function events(run) {
  if (!run.events.length) return null;
  return [table(["second", "who", "what"], run.events.map((one) => [one.time.toFixed(1), one.who, one.text]), [0]),
    run.events.filter((one) => one.more).map((one) => h("details", {}, h("summary", {}, `traceback of ${one.who}`), h("pre", {}, one.more)))];
}
