import { legend, s } from "./dom.js";
import { STATES, label } from "./machine.js";

// A row for each rank: its states over time, and above them the waits that were seen.

const BAD = ["stuck", "failed", "lost"];

export function timeline(run, width) {
  const rows = run.ranks, end = Math.max(run.time, 0.1);
  if (!rows.length) return null;
  const left = 56, axis = 38, height = rows.length > 100 ? 5 : rows.length > 40 ? 9 : 18, gap = height > 8 ? 2 : 0;
  const whole = rows.length * (height + gap), x = (time) => left + (width - left - 8) * Math.min(1, Math.max(0, time) / end);
  const every = 2 ** Math.max(0, Math.ceil(Math.log2(14 / (height + gap)))), above = 6;
  const shown = new Set();
  const bar = (y, from, to, state, title) => {
    shown.add(state);
    const place = { x: x(from), y, width: Math.max(0.5, x(to) - x(from)), height };
    return [s("rect", { ...place, class: `s-${state}` }, s("title", {}, title)), BAD.includes(state) ? s("rect", { ...place, fill: "url(#hatch)", "pointer-events": "none" }) : null];
  };
  const drawn = rows.flatMap((rank, at) => {
    const y = at * (height + gap);
    const states = rank.states.map(([from, state], number) => [from, rank.states[number + 1]?.[0] ?? end, state]).filter(([, , state]) => !["done", "ended", "planned"].includes(state));
    const draw = ([from, to, state]) => bar(y, from, to, state, `${rank.name}: ${state} from ${from} s`);
    // the lower part of the bar of a rank that runs is filled as far as it was in MPI
    const inMpi = rank.shares.filter(([, , part]) => part > 0.005).map(([from, to, part]) => {
      shown.add("mpi");
      return s("rect", { class: "s-mpi", x: x(from), width: Math.max(0.5, x(to) - x(from)), y: y + height * (1 - part), height: height * part },
        s("title", {}, `${rank.name}: ${Math.round(100 * part)} % in MPI from ${from} to ${to} s`));
    });
    const calls = rank.waits.map((one) => bar(y, one.begun, one.over ?? end, "waiting", `${rank.name}: ${one.text} from ${one.begun} s`));
    const isStuck = ([, , state]) => state === "stuck";
    return [...states.filter((one) => !isStuck(one)).map(draw), ...inMpi, ...calls, ...states.filter(isStuck).map(draw), at % every ? null : s("text", { x: left - 8, y: y + height / 2 + 4, "text-anchor": "end", class: "dim" }, label(rank))];
  });
  const step = nice(end / Math.max(2, (width - left) / 90)), ticks = [], digits = Math.max(0, -Math.floor(Math.log10(step)));
  for (let time = 0; time <= end * 1.0001; time += step) {
    ticks.push(s("line", { class: "axis", x1: x(time), x2: x(time), y1: 0, y2: whole + 4 }),
      s("text", { class: "dim", x: x(time), y: whole + 18, "text-anchor": "middle" }, time.toFixed(digits)));
  }
  const picture = s("svg", { role: "img", width, height: above + whole + axis, viewBox: `0 ${-above} ${width} ${above + whole + axis}`, "aria-label": "states of ranks over time" },
    s("defs", {}, s("pattern", { id: "hatch", width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, s("line", { class: "hatch", y2: 7 }))),
    ticks, drawn,
    s("text", { class: "dim", x: (left + width) / 2, y: whole + 34, "text-anchor": "middle" }, "seconds since the start"),
    s("text", { class: "dim", x: 0, y: whole + 18 }, "rank"));
  const entries = STATES.filter((state) => shown.has(state)).map((state) => [state, state]);
  const mpi = shown.has("mpi") ? [["mpi", "in MPI: the higher, the greater part of the time"]] : [];
  return [picture, legend([...mpi, ...entries])];
}

function nice(step) {
  const power = 10 ** Math.floor(Math.log10(step));
  return power * ([1, 2, 5, 10].find((one) => one * power >= step) ?? 10);
}
