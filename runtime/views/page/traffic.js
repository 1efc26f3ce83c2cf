import { bytes, counted, h, many, s, table } from "./dom.js";
import { label } from "./machine.js";
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
    flows.length && used.length <= MOST_DRAWN ? flowing(used, flows, most, show, Math.min(width, 560)) : null,
    h("div", { class: "scroll" }, h("table", { class: "matrix" },
      h("thead", {}, h("tr", {}, h("th", {}, "from \\ to"), used.map((one) => h("th", { scope: "col" }, one.name)))),
      h("tbody", {}, used.map((from) => h("tr", {}, h("th", { scope: "row" }, from.name), used.map((to) => cell(from, to))))))),
    h("div", { class: "beside" }, h("div", {}, h("h3", {}, "by route"), table(["from", "to", "route", "messages", "bytes"], ways.map((one) => [names.get(one.from), names.get(one.to), one.route, many(one.messages), bytes(one.bytes)]), [3, 4])), pairs(run)),
  ];
}

/** The clusters and what flows between them: the more, the wider. */
function flowing(nodes, flows, most, show, width) {
  const height = Math.min(width, [140, 140, 140, 240, 260][nodes.length] ?? 360), place = around(nodes, width, height, width / 5, 38);
  const way = (one) => curve(place.get(one.from.id), place.get(one.to.id));
  return s("svg", { id: "flows", role: "img", width, height, viewBox: `0 0 ${width} ${height}`, "aria-label": `what flows between ${counted(nodes.length, "cluster")}` },
    s("defs", {}, s("marker", { id: "flow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto" }, s("path", { d: "M0 0L8 4L0 8z", class: "tip" }))),
    flows.map((one) => s("path", { class: "flow", d: way(one).path, "stroke-width": 1 + 4 * Math.log1p(one.value) / Math.log1p(most), "marker-end": "url(#flow)" },
      s("title", {}, `${one.from.name} to ${one.to.name}: ${show(one.value)}`))),
    flows.length > width / 45 ? null : flows.map((one) => {
      const [x, y] = way(one).text;
      return s("text", { class: "dim over", "text-anchor": "middle", x, y: y + 4 }, show(one.value));
    }),
    nodes.map((one) => {
      const [x, y] = place.get(one.id);
      return s("g", {}, s("circle", { cx: x, cy: y, r: 15, class: "node s-ended" }), s("text", { x, y: y < height / 2 - 1 ? y - 22 : y + 30, "text-anchor": "middle", class: "over" }, one.name));
    }));
}

function pairs(run) {
  const at = new Map(run.ranks.map((one, number) => [one.id, number]));
  const sent = run.pairs.filter((one) => one.bytes && at.has(one.to));
  if (!sent.length) return null;
  const top = [...sent].sort((one, other) => other.bytes - one.bytes || at.get(one.from) - at.get(other.from)).slice(0, 10);
  const name = (id) => run.ranks[at.get(id)].name;
  return [h("div", {}, h("h3", {}, "between ranks of different clusters"), heat(run.ranks, sent, at, top[0].bytes),
    h("p", { class: "dim" }, `The stronger, the more bytes: ${bytes(top[0].bytes)} at most.`)),
    h("div", {}, h("h3", {}, "pairs that sent most"), table(["from", "to", "messages", "bytes"], top.map((one) => [name(one.from), name(one.to), many(one.messages), bytes(one.bytes)]), [2, 3]))];
}

/** What each rank sent to each other one: an image of one dot a pair, with axes. */
function heat(ranks, sent, at, most) {
  const size = ranks.length, canvas = h("canvas", { width: size, height: size }), side = 300, left = 46, above = 8, scale = side / size;
  const paint = canvas.getContext("2d"), colour = getComputedStyle(document.documentElement).getPropertyValue("--heat");
  for (const one of sent) {
    paint.fillStyle = `rgba(${colour}, ${0.15 + 0.85 * Math.log1p(one.bytes) / Math.log1p(most)})`;
    paint.fillRect(at.get(one.to), at.get(one.from), 1, 1);
  }
  const every = [1, 2, 4, 8, 16, 32, 64, 128].find((one) => one * scale >= 24) ?? 256;
  const ticks = ranks.filter((_, number) => number % every === 0).flatMap((one) => {
    const middle = (at.get(one.id) + 0.5) * scale;
    return [s("text", { class: "dim", x: left - 5, y: above + middle + 4, "text-anchor": "end" }, label(one)), s("text", { class: "dim", x: left + middle, y: above + side + 15, "text-anchor": "middle" }, label(one))];
  });
  return s("svg", { id: "heat", role: "img", width: left + side + 8, height: above + side + 34, viewBox: `0 0 ${left + side + 8} ${above + side + 34}`, "aria-label": `bytes between ${size} ranks, senders downwards` },
    s("image", { href: canvas.toDataURL(), x: left, y: above, width: side, height: side }), s("rect", { class: "frame", x: left, y: above, width: side, height: side }), ticks,
    s("text", { class: "dim", x: left + side / 2, y: above + side + 30, "text-anchor": "middle" }, "to rank"),
    s("text", { class: "dim", x: 11, y: above + side / 2, "text-anchor": "middle", transform: `rotate(-90 11 ${above + side / 2})` }, "from rank"));
}
