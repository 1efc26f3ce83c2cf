import { counted, h, many, table } from "./dom.js";
import { label } from "./machine.js";

// What ranks wrote, with a filter; the log; figures and versions.

const MOST_SHOWN = 500;
let wanted = "", stream = "";

export function output(run, lines, redraw) {
  if (!lines.length && !run.lines) return null;
  const ranks = new Map(run.ranks.map((one) => [one.id, label(one)]));
  const words = wanted.trim().toLowerCase(), rank = /^(rank )?(\d+(\.\d+)?)$/.exec(words)?.[2];
  const found = lines.filter((one) => (!stream || (stream === "stdout") === (one.stream === "stdout"))
    && (!words || (rank ? ranks.get(one.rank) === rank : one.text.toLowerCase().includes(words))));
  const shown = found.slice(-MOST_SHOWN);
  const box = h("div", { class: "output", id: "lines", tabindex: 0, role: "log", "aria-label": "output of the ranks" },
    shown.map((one) => h("div", { class: one.stream }, h("b", {}, `${ranks.get(one.rank) ?? one.rank} `), one.text)));
  requestAnimationFrame(() => { box.scrollTop = box.scrollHeight; });
  return [h("div", { class: "controls" },
    h("label", {}, "only ", h("input", { id: "filter", type: "search", value: wanted, placeholder: "a rank's number, or text", input: (event) => { wanted = event.target.value; redraw(); } })),
    h("label", {}, "stream ", h("select", { id: "stream", change: (event) => { stream = event.target.value; redraw(); } },
      [["", "both"], ["stdout", "output"], ["stderr", "errors"]].map(([value, text]) => h("option", { value, selected: value === stream }, text)))),
    h("span", { class: "dim", id: "found" }, told(found.length, lines.length, run.lines))), box];
}

/** How many lines the filter lets through, how many there were, and how many of them are kept and drawn. */
function told(found, kept, all) {
  const limits = [all > kept && `of the latest ${many(kept)}`, found > MOST_SHOWN && `the last ${many(MOST_SHOWN)} shown`].filter(Boolean);
  return [`${many(found)} of ${counted(all, "line")}`, ...limits].join(", ");
}

export function log(run) {
  if (!run.log.length) return null;
  return table(["second", "message"], run.log.map((one) => [one.time.toFixed(1), h("span", { class: "message" }, one.text)]), [0]);
}

export function figures(run) {
  if (!run.tables.length) return null;
  return [run.tables.map((one) => table(one.heading, one.rows, one.numbers)),
    run.core_hours ? h("p", {}, `${run.core_hours.toPrecision(3)} core-hours`) : null];
}

export function described(run) {
  const told = run.described;
  if (!told) return null;
  return [h("dl", {}, h("dt", {}, "begun"), h("dd", {}, told.begun), h("dt", {}, "command"), h("dd", {}, told.command),
    Object.entries(told.versions).map(([name, version]) => [h("dt", {}, name), h("dd", {}, version)])),
    told.descriptor ? h("details", {}, h("summary", {}, "descriptor"), h("pre", {}, told.descriptor)) : null];
}
