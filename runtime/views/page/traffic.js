import { bytes, counted, h, many, s, table } from "./dom.js";
import { around, curve } from "./waits.js";

// What went between clusters, and between ranks where they told it.

const MEASURES = { bytes: ["bytes", bytes], messages: ["messages", many], rate: ["bytes a second now", (one) => `${bytes(one)}/s`] };
let measure = "bytes";

const MOST_DRAWN = 16;

export function traffic(run, redraw, width) {
  if (!run.traffic.length) return null;
  const clusters = run.sites.flatMap((site) => site.clusters);
  const used = clusters.filter((one) => run.traffic.some((way) => way.from === one.id || way.to === one.id));
  const sum = (from, to) => run.traffic.filter((one) => one.from === from && one.to === to).reduce((total, one) => total + (one[measure] ?? 0), 0);
  const most = Math.max(1, ...used.flatMap((from) => used.map((to) => sum(from.id, to.id))));
  const show = MEASURES[measure][1];
  const flows = used.flatMap((from) => used.map((to) => ({ from, to, value: sum(from.id, to.id) }))).filter((one) => one.value && one.from !== one.to);
  const cell = (from, to) => {
    const value = sum(from.id, to.id);
    const made = h("td", { title: `${from.name} to ${to.name}` }, value ? show(value) : "");
    if (value) made.style.background = `rgba(var(--heat), ${0.12 + 0.5 * Math.log1p(value) / Math.log1p(most)})`;
    return made;
  };
  const names = new Map(clusters.map((one) => [one.id, one.name])), order = new Map(clusters.map((one, at) => [one.id, at]));
  const ways = [...run.traffic].sort((one, other) => order.get(one.from) - order.get(other.from) || order.get(one.to) - order.get(other.to));
  const shown = Object.entries(MEASURES).filter(([name]) => name !== "rate" || !run.is_over);
  return [
    h("div", { class: "controls" }, h("label", {}, "show ", h("select", { id: "measure", change: (event) => { measure = event.target.value; redraw(); } },
      shown.map(([name, [text]]) => h("option", { value: name, selected: name === measure }, text))))),
    used.length <= MOST_DRAWN ? flowing(used, flows, most, show, Math.min(width, 560)) : null,
    h("div", { class: "scroll" }, h("table", { class: "matrix" },
      h("thead", {}, h("tr", {}, h("th", {}, "from \\ to"), used.map((one) => h("th", { scope: "col" }, one.name)))),
      h("tbody", {}, used.map((from) => h("tr", {}, h("th", { scope: "row" }, from.name), used.map((to) => cell(from, to))))))),
    h("div", { class: "beside" }, h("div", {}, h("h3", {}, "by route"), table(["from", "to", "route", "messages", "bytes"], ways.map((one) => [names.get(one.from), names.get(one.to), one.route, many(one.messages), bytes(one.bytes)]), [3, 4])), pairs(run)),
  ];
}

/** The clusters and what flows between them: the more, the wider. */
function flowing(nodes, flows, most, show, width) {
  const height = Math.min(width, nodes.length > 4 ? 360 : 220), place = around(nodes, width, height, width / 5);
  const way = (one) => curve(place.get(one.from.id), place.get(one.to.id));
  return s("svg", { id: "flows", role: "img", width, height, viewBox: `0 0 ${width} ${height}`, "aria-label": `what flows between ${counted(nodes.length, "cluster")}` },
    s("defs", {}, s("marker", { id: "flow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto" }, s("path", { d: "M0 0L8 4L0 8z", class: "tip" }))),
    flows.map((one) => s("path", { class: "flow", d: way(one).path, "stroke-width": 1 + 4 * Math.log1p(one.value) / Math.log1p(most), "marker-end": "url(#flow)" },
      s("title", {}, `${one.from.name} to ${one.to.name}: ${show(one.value)}`))),
    flows.length > 12 ? null : flows.map((one) => {
      const [x, y] = way(one).text;
      return s("text", { class: "dim over", "text-anchor": "middle", x, y: y + 4 }, show(one.value));
    }),
    nodes.map((one) => {
      const [x, y] = place.get(one.id);
      return s("g", {}, s("circle", { cx: x, cy: y, r: 15, class: "node s-ended" }), s("text", { x, y: y + 30, "text-anchor": "middle" }, one.name));
    }));
}

function pairs(run) {
  const at = new Map(run.ranks.map((one, number) => [one.id, number]));
  const sent = run.pairs.filter((one) => at.has(one.to));
  if (!sent.length) return null;
  const size = run.ranks.length, scale = Math.max(1, Math.floor(320 / size));
  const canvas = h("canvas", { width: size * scale, height: size * scale, role: "img", "aria-label": `bytes between ${size} ranks, senders downwards` });
  const paint = canvas.getContext("2d"), heat = getComputedStyle(document.documentElement).getPropertyValue("--heat");
  const most = Math.max(1, ...sent.map((one) => one.bytes));
  for (const one of sent) {
    paint.fillStyle = `rgba(${heat}, ${0.15 + 0.85 * Math.log1p(one.bytes) / Math.log1p(most)})`;
    paint.fillRect(at.get(one.to) * scale, at.get(one.from) * scale, scale, scale);
  }
  const top = [...sent].sort((one, other) => other.bytes - one.bytes).slice(0, 10);
  const name = (id) => run.ranks[at.get(id)].name;
  return [h("div", {}, h("h3", {}, "between ranks of different clusters"), canvas, h("p", { class: "dim" }, "rows send, columns receive, both by number in COMM_WORLD")),
    h("div", {}, h("h3", {}, "ranks that sent most"), table(["from", "to", "messages", "bytes"], top.map((one) => [name(one.from), name(one.to), many(one.messages), bytes(one.bytes)]), [2, 3]))];
}
