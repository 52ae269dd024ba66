"use strict";
// Data: see scripts/reporting/explorer.py. Intervals are looked up there, none is computed here.
const DATA = JSON.parse(document.getElementById("data").textContent);
const LEVELS = Object.keys(DATA.levels),
  LIMIT = LEVELS.at(-1),
  OPERATORS = LEVELS.slice(0, 2),
  FUSED = LEVELS.at(-2);
const PLACE = ["machine", "benchmark", "device", "phase"];
const START = {
  machine: Object.keys(DATA.machines)[0],
  benchmark: DATA.groups[0]?.benchmark ?? "",
  device: "cpu",
  phase: "training",
  versions: "current",
  view: "bars",
  frameworks: "",
  limits: "",
  baseline: "",
  sort: "",
  down: "",
};
const LONGEST = 10; // bars of more times the baseline are cut
let state = { ...START },
  rows = [],
  notice = ""; // what of an address is not known
const NOBODY = "none"; // of the frameworks
const $ = id => document.getElementById(id);

// Elements with text, never with markup: labels and reasons may come from anywhere.
function make(tag, attributes = {}, ...children) {
  const svg = ["svg", "rect", "path", "line", "text", "title", "g", "circle"].includes(tag);
  const found = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [key, value] of Object.entries(attributes))
    if (value === true) found.setAttribute(key, "");
    else if (value !== false && value != null) found.setAttribute(key, value);
  found.append(...children.filter(each => each != null));
  return found;
}

// Numbers
const digits = (value, count) =>
  value >= 1000 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(count)));
function time(s) {
  if (s == null) return "–";
  const [unit, scale] = s >= 1 ? ["s", 1] : s >= 1e-3 ? ["ms", 1e3] : ["µs", 1e6];
  return (s * scale >= 1000 ? Math.round(s * scale).toLocaleString("en") : (s * scale).toPrecision(3)) + " " + unit;
}
const times = value => value.toFixed(value < 0.1 ? 3 : 2) + "×";
const bracket = found => (found.low == null ? "" : ` [${found.low.toFixed(2)}, ${found.high.toFixed(2)}]`);
const bytes = value => (value == null ? "–" : digits(value / 2 ** 30, 3) + " GiB");
// Half of an interval in per cent; both ends where one lies much farther from the time than the other, as in layout.py.
function within({ sure, wall_median_s: middle, wall_low_s: low, wall_high_s: high }) {
  if (!sure) return "";
  const half = Math.sqrt(high / low) - 1;
  const farther = Math.max(high / middle, middle / low) - 1;
  if (farther > 0.05 && farther > 1.3 * half) return `[${time(low)}, ${time(high)}]`;
  return `±${digits(100 * half, 2)} %`;
}

// A group's rows as objects, and the ratio of any two of them with its interval. A column is a list, or the value of all rows.
function rowOf(columns, place) {
  const row = Object.fromEntries(
    DATA.columns.map((name, at) => [name, Array.isArray(columns[at]) ? columns[at][place] : columns[at]]),
  );
  for (const [name, scale] of Object.entries(DATA.scales)) if (row[name] != null) row[name] /= scale;
  for (const [name, scale] of Object.entries(DATA.parts))
    if (row[name] != null) row[name] = Number(((row.wall_median_s * row[name]) / scale).toPrecision(5));
  return row;
}
function unpack(group) {
  if (group.unpacked) return group.unpacked;
  const view = text => new DataView(Uint8Array.from(atob(text), letter => letter.charCodeAt(0)).buffer);
  group.ends = view(group.ratios.ends);
  group.off = group.ratios.off && view(group.ratios.off);
  group.unpacked = group.rows.at(-1).map((_, place) => {
    const row = rowOf(group.rows, place);
    const implementation = DATA.implementations[row.implementation],
      environment = DATA.environments[row.environment];
    return {
      ...row,
      ...implementation,
      name: implementation.by_cell?.[DATA.benchmarks[group.benchmark].cell] ?? implementation.name,
      version: [implementation.inside, DATA.versions[row.version]].filter(Boolean).join(" "),
      environment: environment.name,
      year: environment.year,
      current: environment.current,
      sure: row.interval === 1,
      key: `${implementation.id}@${environment.name}`,
      place,
      group,
    };
  });
  return group.unpacked;
}
function ratio(of, to) {
  const found = { ratio: of.wall_median_s / to.wall_median_s, low: null, high: null };
  if (of.place === to.place) return { ...found, low: 1, high: 1 };
  const [i, j] = [of.place, to.place].sort((a, b) => a - b),
    count = of.group.unpacked.length;
  const at = i * count - (i * (i + 1)) / 2 + j - i - 1,
    ends = [0, 2].map(by => of.group.ends.getUint16(4 * at + by, true));
  if (of.group.off)
    found.ratio *= Math.exp((of.place < to.place ? 1 : -1) * DATA.step * of.group.off.getInt16(2 * at, true));
  if (ends[0] === DATA.none) return found;
  const [down, up] = (of.place < to.place ? ends : ends.reverse()).map(end => end * DATA.step);
  return { ...found, low: found.ratio * Math.exp(-down), high: found.ratio * Math.exp(up) };
}

// What can be chosen, given what is chosen before it.
function options(key) {
  if (key === "benchmark") return Object.keys(DATA.benchmarks);
  const before = PLACE.slice(0, PLACE.indexOf(key));
  const groups = DATA.groups.filter(group => before.every(each => group[each] === state[each]));
  return [...new Set(groups.map(group => group[key]))];
}
const groupOf = benchmark =>
  DATA.groups.find(
    group => group.benchmark === benchmark && PLACE.every(key => key === "benchmark" || group[key] === state[key]),
  );
function views() {
  const found = DATA.series
    .filter(each => state.benchmark in each.benchmarks && Object.keys(each.benchmarks).filter(groupOf).length > 2)
    .map(each => [each.axis, "over " + each.label]);
  const group = groupOf(state.benchmark),
    years = new Set(group ? unpack(group).map(row => row.year) : []);
  return [["bars", "bars"], ...found, ...(years.size > 2 ? [["year", "over years"]] : [])];
}
function settle() {
  notice = "";
  for (const key of PLACE) {
    const found = options(key);
    if (!found.length || found.includes(state[key])) continue; // a machine may lack a benchmark
    if (["machine", "benchmark"].includes(key)) notice += `Not in this report: ${key} ${state[key]}. `;
    state[key] = found[0];
  }
  if (!views().some(([name]) => name === state.view)) state.view = "bars";
  if (state.versions !== "all") state.versions = "current";
}
const frameworks = () => (state.frameworks ? state.frameworks.split(",").filter(name => name !== NOBODY) : null);
function kept(row) {
  const chosen = frameworks();
  return (
    (state.limits || row.level !== LIMIT) &&
    (!chosen || chosen.includes(row.framework)) &&
    (state.versions === "all" || row.current || state.view === "year")
  );
}
const keptOf = group => (group ? unpack(group).filter(kept) : []);
function points() {
  if (state.view === "bars" || state.view === "year") {
    const group = groupOf(state.benchmark);
    return keptOf(group).map(row => ({ ...row, x: row.year }));
  }
  const series = DATA.series.find(each => each.axis === state.view && state.benchmark in each.benchmarks);
  return Object.entries(series.benchmarks).flatMap(([name, x]) => keptOf(groupOf(name)).map(row => ({ ...row, x })));
}
// The baseline of a row: the one that was clicked, in the row's own group; else the fastest of it.
function baselineOf(row) {
  const own = rows.filter(each => each.group === row.group);
  return own.find(each => each.key === state.baseline) ?? own.find(each => each.level !== LIMIT) ?? own[0];
}

// The address: what differs from the start. A view opens again from it.
function read() {
  const named = new URLSearchParams(location.hash.slice(1));
  const known = named.has("document") || Object.keys(START).some(key => named.has(key));
  if (location.hash && !known) return false; // another anchor of the page
  state = { ...START };
  for (const key of Object.keys(START)) if (named.has(key)) state[key] = named.get(key);
  const named_document = Object.entries(DATA.benchmarks).find(([, each]) => each.document === named.get("document"));
  if (named_document && !named.has("benchmark")) state.benchmark = named_document[0];
  return known || Boolean(named_document);
}
function write(replace = false) {
  const differing = Object.entries(state).filter(([key, value]) => value !== START[key]);
  const hash = "#" + new URLSearchParams(differing.length ? differing : [["machine", state.machine]]);
  try {
    if (hash !== location.hash) history[replace ? "replaceState" : "pushState"](null, "", hash);
  } catch {
    /* inside another page, as in Snakemake's report */
  }
}
function change(changes) {
  Object.assign(state, changes);
  settle();
  write();
  draw();
}
