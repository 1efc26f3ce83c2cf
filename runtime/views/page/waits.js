import { bytes, counted, h, legend, many, s, seconds, table } from "./dom.js";
import { label } from "./machine.js";

// Who waits for whom: a graph, in which those that can never go on are red, and a list.

const MOST_NODES = 40, MOST_RANKS = 64;

export function waits(run, width) {
  const ranks = new Map(run.ranks.map((one) => [one.id, one]));
  const waiting = run.ranks.filter((one) => one.wait);
  if (!waiting.length && !run.findings.length) return null;
  const edges = run.waits_for.filter((one) => ranks.has(one.from) && ranks.has(one.to));
  return [
    run.findings.map((one) => h("p", { class: one.is_final ? "error" : "" }, `${one.heading} ${one.text}`)),
    edges.length ? graph(edges, run.findings, ranks, run.ranks, Math.min(width, 560)) : null,
    waiting.length ? table(["rank", "waits in", "at", "how long"], waiting.slice(0, MOST_NODES).map((one) =>
      [label(one), one.wait.text, one.wait.where, seconds(Math.max(0, run.time - one.wait.begun))]), [0, 3]) : null,
    waiting.length > MOST_NODES ? h("p", { class: "dim" }, `and ${counted(waiting.length - MOST_NODES, "rank")} more`) : null,
  ];
}

/** What a check has found: of which kind, at which ranks, in which calls. */
export function faults(run) {
  if (!run.faults.length) return null;
  const ranks = new Map(run.ranks.map((one) => [one.id, label(one)]));
  return table(["kind", "ranks", "calls", "fault"], run.faults.map((one) =>
    [one.kind, one.ranks.map((name) => ranks.get(name) ?? name).sort((a, b) => a - b).join(", "), one.calls.join("; "), one.text]));
}

function graph(edges, findings, ranks, all, width) {
  const urgent = [...edges.filter((one) => one.kind === "stuck"), ...edges.filter((one) => one.kind !== "stuck")];
  const named = new Set();
  for (const one of urgent) {
    const more = [one.from, one.to].filter((name) => !named.has(name));
    if (named.size + more.length <= MOST_NODES) more.forEach((name) => named.add(name));
  }
  const nodes = all.filter((one) => named.has(one.id));
  const height = Math.min(width, nodes.length > 8 ? 420 : 260), place = around(nodes, width, height, 30);
  const stuck = new Set(findings.filter((one) => one.is_final).flatMap((one) => one.ranks));
  const drawn = edges.filter((one) => named.has(one.from) && named.has(one.to));
  const arrow = (kind) => s("marker", { id: `to-${kind}`, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" },
    s("path", { d: "M0 0L8 4L0 8z", class: kind === "stuck" ? "s-stuck" : "s-waiting" }));
  const picture = s("svg", { role: "img", width, height, viewBox: `0 0 ${width} ${height}`, "aria-label": `${counted(drawn.length, "wait")} between ${counted(nodes.length, "rank")}` },
    s("defs", {}, arrow("waits"), arrow("stuck")),
    drawn.map((one) => s("path", { class: `edge ${one.kind}`, d: curve(place.get(one.from), place.get(one.to)).path, "marker-end": `url(#to-${one.kind})` },
      s("title", {}, `${ranks.get(one.from).name} waits for ${ranks.get(one.to).name}`))),
    nodes.map((one) => {
      const [x, y] = place.get(one.id);
      return s("g", {}, s("circle", { cx: x, cy: y, r: 15, class: `node ${stuck.has(one.id) ? "s-stuck" : one.wait ? "s-waiting" : "s-running"}` }, s("title", {}, one.name)),
        s("text", { x, y: y + 4, "text-anchor": "middle", class: "on" }, label(one)));
    }));
  const left = new Set(edges.flatMap((one) => [one.from, one.to])).size - nodes.length;
  const entries = [["waiting", "waits for"], ["stuck", "can never go on"]].filter(([kind]) => drawn.some((one) => (one.kind === "stuck") === (kind === "stuck")));
  return [picture, legend(entries), left > 0 ? h("p", { class: "dim" }, `${counted(left, "rank")} more not drawn`) : null];
}

/** Where each node is on an ellipse, so far from the borders; the first one is on the left. */
export function around(nodes, width, height, border, above = 30) {
  return new Map(nodes.map((one, at) => {
    const angle = 2 * Math.PI * at / nodes.length + Math.PI;
    return [one.id, [width / 2 + (width / 2 - border) * Math.cos(angle), height / 2 + (height / 2 - above) * Math.sin(angle)]];
  }));
}

/** The curve from one node to another, beside the one back: its path, and where a text about it
    stands, nearer to where it begins, so that texts about there and back stay apart. */
export function curve([fromX, fromY], [toX, toY]) {
  const [dx, dy] = [toX - fromX, toY - fromY], length = Math.hypot(dx, dy) || 1;
  const bend = Math.min(28, length / 6), [mx, my] = [(fromX + toX) / 2 - dy / length * bend, (fromY + toY) / 2 + dx / length * bend];
  const cut = (x, y) => { const far = Math.hypot(mx - x, my - y) || 1; return [x + 18 * (mx - x) / far, y + 18 * (my - y) / far]; };
  const [ax, ay] = cut(fromX, fromY), [bx, by] = cut(toX, toY);
  const at = (a, m, b) => 0.49 * a + 0.42 * m + 0.09 * b;
  return { path: `M${ax} ${ay}Q${mx} ${my} ${bx} ${by}`, text: [at(ax, mx, bx), at(ay, my, by)] };
}

/** The parts of the time: computing, waiting for others, other MPI; while ranks run all MPI is one. */
const SHARES = [["computing", "running", (times) => times.computing],
  ["waiting", "waiting", (times) => times.waiting ?? 0],
  ["other MPI", "mpi", (times) => Math.max(0, times.in_mpi - (times.waiting ?? 0))]];
const SHARES_SO_FAR = [SHARES[0], ["MPI", "mpi", (times) => times.in_mpi]];

/** Where the time of each rank went, and how much memory and processor time it has used. */
export function shares(run) {
  const told = run.ranks.filter((one) => one.times || one.memory);
  if (!told.length) return null;
  const isKnown = told.some((one) => (one.times?.waiting ?? null) !== null);
  const shares = isKnown ? SHARES : SHARES_SO_FAR;
  const parts = (times) => shares.map(([, , part]) => part(times));
  const percent = (value, whole) => `${Math.round(100 * value / whole)} %`;
  const bar = (times) => s("svg", { role: "img", width: 120, height: 12, viewBox: "0 0 120 12", "aria-label": shares.map(([name], at) => `${name} ${percent(parts(times)[at], times.seconds)}`).join(", ") },
    parts(times).map((part, at, all) => s("rect", { class: `s-${shares[at][1]}`, x: 120 * all.slice(0, at).reduce((sum, one) => sum + one, 0) / times.seconds, width: 120 * part / times.seconds, height: 12 })));
  const row = (rank) => {
    const times = rank.times;
    return [label(rank), rank.host, ...(times ? [bar(times), ...parts(times).map((one) => percent(one, times.seconds))] : ["", ...shares.map(() => "")]),
      rank.memory ? bytes(rank.memory) : "", rank.cpu ? seconds(rank.cpu) : ""];
  };
  const shown = told.slice(0, MOST_RANKS);
  return [run.calls.went ? h("p", { id: "went" }, run.calls.went) : null,
    table(["rank", "host", "time", ...shares.map(([name]) => name), "memory", "processor"], shown.map(row), [3, 4, 5, 6, 7]),
    legend(shares.map(([name, style]) => [style, name])),
    told.length > shown.length ? h("p", { class: "dim" }, `and ${counted(told.length - shown.length, "more rank")}; gcm-deploy --format json has all.`) : null,
    h("p", { class: "dim" }, isKnown ? "A rank waits as long as it is in a call longer than the rank that is quickest in it; other MPI is the rest. Memory is the most that it had."
      : "How much of the time in MPI was waiting for others is known at the end. Memory is the most that it had.")];
}

/** How communicators are that may lose ranks: each state with who tells it. */
export function communicators(run) {
  if (!run.communicators.length) return null;
  const style = { ok: "done", recover: "waiting", recovered: "ready" };
  return table(["communicator", "state", "present", "modes", "told by"], run.communicators.map((one) => [one.name,
    h("span", { class: `badge ${style[one.state] ?? "lost"}` }, one.state),
    one.size ? `${one.present} of ${one.size}` : "", one.modes, one.ranks.length > 8 ? `${counted(one.ranks.length, "rank")}` : one.ranks.join(", ")]));
}

/** Which calls took how long, and which ranks let others wait. */
export function calls(run) {
  if (!run.calls.rows.length) return null;
  const { rows, imbalance, untold } = run.calls;
  return [imbalance.map((one) => h("p", { class: "imbalance" }, one)),
    table(["call", "ranks", "calls", "seconds of all", "of the quickest rank", "of the slowest rank"],
      rows.map((one) => [one.call, many(one.ranks), many(one.calls), one.seconds.toFixed(2),
        `${one.least.toFixed(2)}, ${one.least_rank}`, `${one.most.toFixed(2)}, ${one.most_rank}`]), [1, 2, 3, 4, 5]),
    untold ? h("p", { class: "dim" }, `${counted(untold, "rank")} of ${many(run.ranks.length)} told nothing: killed, ended from outside, or without a call of MPI.`) : null];
}
