import { bytes, counted, h, s, table } from "./dom.js";

// A lab: its peers by round trip, in sites, and the runs on them.

const COLOURS = ["#4d80e6", "#c9781b", "#23958a", "#a866e6", "#d0568d", "#2a9cc4", "#76a52c", "#dc4a4a"];
const MOST_NAMED = 60;

const colour = (site) => COLOURS[site % COLOURS.length];

const rtt = (value) => (value === null ? "" : value ? `${(1000 * value).toFixed(2)} ms` : "here");

export function peers(lab) {
  const site = (one) => { const mark = h("span", {}, "●"); mark.style.color = colour(one.site); return one.site ? h("span", {}, mark, ` ${one.site}`) : ""; };
  const load = ({ load, cores }) => (load === null ? "" : `${load.toFixed(2)} of ${counted(cores, "core")}`);
  const memory = ({ memory, free }) => (memory ? `${bytes(free)} of ${bytes(memory)}` : "");
  return table(["peer", "runs", "load", "memory free", "lends", "round trip", "site", "address", "processor", "system", ""],
    lab.peers.map((one) => [h("b", {}, one.name), one.busy, load(one.machine), memory(one.machine), one.share, rtt(one.rtt), site(one), one.address, one.machine.processor, one.machine.system, one.note]), [2, 3, 5]);
}

export function runs(lab) {
  if (!lab.runs.length) return h("p", {}, "Nothing runs.");
  return [table(["run", "user", "phase", "places", "peers, with ranks"],
    lab.runs.map((one) => [one.program, one.user, one.phase, `${one.processes}`, one.peers.join(", ")]), [3]),
    h("p", { class: "dim" }, `${lab.answered} of ${lab.peers.length} peers have told of their runs. 3.1 is replica 1 of rank 3.`)];
}

/** This peer in the middle, the others as far as their round trips, by site. */
export function distances(lab, width) {
  const near = lab.peers.filter((one) => one.rtt).sort((one, other) => one.site - other.site || one.name.localeCompare(other.name));
  if (!near.length) return null;
  const size = Math.min(480, width), middle = size / 2, most = middle - Math.min(70, size / 6);
  const low = Math.log10(Math.min(...near.map((one) => one.rtt)) / 2), high = Math.log10(Math.max(...near.map((one) => one.rtt)) * 1.2);
  const radius = (value) => most * (Math.log10(value) - low) / (high - low);
  const rings = [];
  for (let power = Math.floor(low) + 1; power <= high; power++) {
    const far = radius(10 ** power);
    if (far > 0) rings.push(s("circle", { class: "ring", cx: middle, cy: middle, r: far }), s("text", { class: "dim", x: middle + 3, y: middle - far - 3 }, `${1000 * 10 ** power} ms`));
  }
  const points = near.map((one, at) => {
    const angle = 2 * Math.PI * ((at + 0.5) / near.length - 0.25), far = radius(one.rtt);
    const x = middle + far * Math.cos(angle), y = middle + far * Math.sin(angle), isRight = x >= middle;
    return [s("line", { x1: middle, y1: middle, x2: x, y2: y, stroke: colour(one.site), "stroke-opacity": 0.35 }),
      s("circle", { cx: x, cy: y, r: 5, fill: colour(one.site) }, s("title", {}, `${one.name} ${rtt(one.rtt)}`)),
      near.length <= MOST_NAMED ? s("text", { x: isRight ? x + 8 : x - 8, y: y + 4, "text-anchor": isRight ? "start" : "end" }, one.name) : null];
  });
  const reach = Math.max(...rings.length ? [most] : [0], ...near.map((one, at) => Math.abs(radius(one.rtt) * Math.sin(2 * Math.PI * ((at + 0.5) / near.length - 0.25))))) + 22;
  const picture = s("svg", { role: "img", "aria-label": "peers by round trip", width: size, height: 2 * reach, viewBox: `0 ${middle - reach} ${size} ${2 * reach}` },
    rings, points, s("circle", { cx: middle, cy: middle, r: 7, class: "s-ended" }));
  return [picture, h("p", { class: "dim" }, "The farther from the middle, the longer the round trip (logarithmic); colours are sites.")];
}
