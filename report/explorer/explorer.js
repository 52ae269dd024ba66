"use strict";
// Data: see scripts/reporting/explorer.py. Intervals are looked up there, none is computed here.
const DATA = JSON.parse(document.getElementById("data").textContent);
const LEVELS = Object.keys(DATA.levels), LIMIT = LEVELS.at(-1), OPERATORS = LEVELS.slice(0, 2), FUSED = LEVELS.at(-2);
const PLACE = ["machine", "benchmark", "device", "phase"];
const START = { machine: Object.keys(DATA.machines)[0], benchmark: DATA.groups[0]?.benchmark ?? "", device: "cpu", phase: "training", versions: "current", view: "bars", frameworks: "", limits: "", baseline: "", sort: "", down: "" };
const LONGEST = 10; // bars of more times the baseline are cut
let state = { ...START }, rows = [];
const $ = id => document.getElementById(id);

// Elements with text, never with markup: labels and reasons may come from anywhere.
function make(tag, attributes = {}, ...children) {
  const svg = ["svg", "rect", "path", "line", "text", "title", "g", "circle"].includes(tag);
  const found = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) if (value === true) found.setAttribute(key, ""); else if (value !== false && value != null) found.setAttribute(key, value);
  found.append(...children.filter(each => each != null));
  return found;
}

// Numbers
const digits = (value, count) => value >= 1000 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(count)));
function time(s) {
  if (s == null) return "–";
  const [unit, scale] = s >= 1 ? ["s", 1] : s >= 1e-3 ? ["ms", 1e3] : ["µs", 1e6];
  return (s * scale >= 1000 ? Math.round(s * scale).toLocaleString("en") : (s * scale).toPrecision(3)) + " " + unit;
}
const times = value => value.toFixed(value < 0.1 ? 3 : 2) + "×";
const bracket = found => found.low == null ? "" : ` [${found.low.toFixed(2)}, ${found.high.toFixed(2)}]`;
const bytes = value => value == null ? "–" : digits(value / 2 ** 30, 3) + " GiB";
const percent = row => row.sure ? `± ${digits(100 * (Math.sqrt(row.wall_high_s / row.wall_low_s) - 1), 2)} %` : "";

// A group's rows as objects, and the ratio of any two of them with its interval.
function unpack(group) {
  if (group.unpacked) return group.unpacked;
  const view = text => new DataView(Uint8Array.from(atob(text), letter => letter.charCodeAt(0)).buffer);
  group.ends = view(group.ratios.ends);
  group.off = group.ratios.off && view(group.ratios.off);
  group.unpacked = group.rows.map((values, place) => {
    const row = Object.fromEntries(DATA.columns.map((name, column) => [name, values[column]]));
    const implementation = DATA.implementations[row.implementation], environment = DATA.environments[row.environment];
    return { ...row, ...implementation, version: DATA.versions[row.version], environment: environment.name, year: environment.year, current: environment.current, sure: row.interval === 1, key: `${implementation.id}@${environment.name}`, place, group };
  });
  return group.unpacked;
}
function ratio(of, to) {
  const found = { ratio: of.wall_median_s / to.wall_median_s, low: null, high: null };
  if (of.place === to.place) return { ...found, low: 1, high: 1 };
  const [i, j] = [of.place, to.place].sort((a, b) => a - b), count = of.group.rows.length;
  const at = i * count - i * (i + 1) / 2 + j - i - 1, ends = [0, 2].map(by => of.group.ends.getUint16(4 * at + by, true));
  if (of.group.off) found.ratio *= Math.exp((of.place < to.place ? 1 : -1) * DATA.step * of.group.off.getInt16(2 * at, true));
  if (ends[0] === DATA.none) return found;
  const [down, up] = (of.place < to.place ? ends : ends.reverse()).map(end => end * DATA.step);
  return { ...found, low: found.ratio * Math.exp(-down), high: found.ratio * Math.exp(up) };
}

// What can be chosen, given what is chosen before it.
function options(key) {
  const before = PLACE.slice(0, PLACE.indexOf(key));
  return [...new Set(DATA.groups.filter(group => before.every(each => group[each] === state[each])).map(group => group[key]))];
}
const groupOf = benchmark => DATA.groups.find(group => group.benchmark === benchmark && PLACE.every(key => key === "benchmark" || group[key] === state[key]));
function views() {
  const found = DATA.series.filter(each => state.benchmark in each.benchmarks && Object.keys(each.benchmarks).filter(groupOf).length > 2).map(each => [each.axis, "over " + each.label]);
  const group = groupOf(state.benchmark), years = new Set(group ? unpack(group).map(row => row.year) : []);
  return [["bars", "bars"], ...found, ...(years.size > 2 ? [["year", "over years"]] : [])];
}
function settle() {
  for (const key of PLACE) if (!options(key).includes(state[key])) state[key] = options(key)[0];
  if (!views().some(([name]) => name === state.view)) state.view = "bars";
  if (state.versions !== "all") state.versions = "current";
}
const frameworks = () => state.frameworks ? state.frameworks.split(",") : null;
function kept(row) {
  const chosen = frameworks();
  return (state.limits || row.level !== LIMIT) && (!chosen || chosen.includes(row.framework)) && (state.versions === "all" || row.current || state.view === "year");
}
function points() {
  if (state.view === "bars" || state.view === "year") {
    const group = groupOf(state.benchmark);
    return group ? unpack(group).filter(kept).map(row => ({ ...row, x: row.year })) : [];
  }
  const series = DATA.series.find(each => each.axis === state.view && state.benchmark in each.benchmarks);
  return Object.entries(series.benchmarks).flatMap(([name, x]) => { const group = groupOf(name); return group ? unpack(group).filter(kept).map(row => ({ ...row, x })) : []; });
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
function write() {
  const differing = Object.entries(state).filter(([key, value]) => value !== START[key]);
  const hash = "#" + new URLSearchParams(differing.length ? differing : [["machine", state.machine]]);
  try { if (hash !== location.hash) history.pushState(null, "", hash); } catch { /* inside another page, as in Snakemake's report */ }
}
function change(changes) { Object.assign(state, changes); settle(); write(); draw(); }

function select(key, label, groups) {
  const list = make("select", { id: key, name: key });
  for (const [title, entries] of groups) {
    const made = entries.map(([value, text]) => make("option", { value, selected: value === state[key] }, text));
    list.append(...(title ? [make("optgroup", { label: title }, ...made)] : made));
  }
  list.addEventListener("change", () => change({ [key]: list.value }));
  return make("label", { for: key }, make("span", { class: "label" }, label), list);
}
function choices(key, label, entries, kind, chosen, changed) {
  if (entries.length < 2 && kind === "radio") return null;
  const made = entries.map(([value, text]) => {
    const input = make("input", { type: kind, name: key, value, id: `${key}-${value.replace(/\W+/g, "-")}` });
    input.checked = chosen(value);
    input.addEventListener("change", () => changed(value, input.checked));
    return make("label", { class: "choice" }, input, make("span", {}, text));
  });
  return make("fieldset", {}, make("legend", {}, label), ...made);
}
function drawPick() {
  const focused = document.activeElement?.id, radio = (key, label, entries) => choices(key, label, entries, "radio", value => value === state[key], value => change({ [key]: value }));
  const named = options("benchmark"), own = name => named.filter(each => DATA.benchmarks[each].document === name).map(each => [each, `${each} (${DATA.benchmarks[each].shape})`]);
  const all = unpack(groupOf(state.benchmark)), there = [...new Set(all.filter(row => row.level !== LIMIT || state.limits).map(row => row.framework))].sort().map(each => [each, each]);
  const chosen = new Set(frameworks() ?? there.map(([name]) => name));
  const toggled = (value, on) => { if (on) chosen.add(value); else chosen.delete(value); change({ frameworks: there.every(([name]) => chosen.has(name)) || !there.some(([name]) => chosen.has(name)) ? "" : [...chosen].join(",") }); };
  $("pick").replaceChildren(...[
    select("benchmark", "Benchmark", DATA.documents.map(each => [each.title, own(each.name)]).filter(([, entries]) => entries.length)),
    Object.keys(DATA.machines).length > 1 ? select("machine", "Machine", [["", options("machine").map(each => [each, DATA.machines[each]])]]) : null,
    radio("phase", "Phase", options("phase").map(each => [each, each])),
    radio("device", "Device", options("device").map(each => [each, each.toUpperCase()])),
    radio("versions", "Versions", all.some(row => !row.current) ? [["current", "current"], ["all", "all since " + Math.min(...all.map(row => row.year))]] : []),
    radio("view", "Show", views()),
    choices("frameworks", "Frameworks", there, "checkbox", value => chosen.has(value), toggled),
    all.some(row => row.level === LIMIT) ? choices("limits", "Upper bounds", [["1", "products and peak"]], "checkbox", () => Boolean(state.limits), (value, on) => change({ limits: on ? "1" : "" })) : null,
  ].filter(Boolean));
  if (focused && $("pick").querySelector("#" + CSS.escape(focused))) $(focused).focus();
}

const bold = text => make("b", {}, text);
function headline() {
  const lstms = rows.filter(row => row.level !== LIMIT), best = lstms[0], place = `${DATA.machines[state.machine]}, ${state.phase}: `;
  const versions = state.versions === "all" ? lstms : lstms.filter(row => row.current), operators = versions.filter(row => OPERATORS.includes(row.level));
  if (state.view !== "bars" || !best || !operators.length) return [];
  if (operators[0] === best) return [place, "the fastest implementation is written from basic operators: ", bold(best.name), `, ${time(best.wall_median_s)} a batch.`];
  const ends = [operators[0], operators.at(-1)].map(row => ratio(row, best)), text = found => [bold(times(found.ratio)), bracket(found)];
  const said = [place, "LSTMs written from basic operators take ", ...text(ends[0]), ...(operators.length > 1 ? [" to ", ...text(ends[1])] : []), ` the time of the fastest implementation (${best.name}, ${time(best.wall_median_s)} a batch).`];
  const own = [...new Set(operators.map(row => row.framework))].flatMap(name => {
    const one = operators.find(row => row.framework === name), other = versions.find(row => row.framework === name && row.level === FUSED && row.install);
    return one && other ? [`${name} ${times(ratio(one, other).ratio)}${bracket(ratio(one, other))}`] : [];
  });
  return own.length ? [...said, ` Over their own framework's fused kernel: ${own.join(", ")}.`] : said;
}

function button(row) {
  const found = make("button", { type: "button", "aria-pressed": String(row.key === state.baseline), "data-row": row.key, title: `${row.version}: compare with it and show details` }, row.name, " ", make("small", {}, row.version.split(/[-+]/)[0]));
  found.addEventListener("click", () => change({ baseline: row.key === state.baseline ? "" : row.key }));
  return found;
}
function bar(row, found, most) {
  const x = value => (1000 * Math.min(value, most) / most).toFixed(1), cut = found.ratio > most, middle = "M" + x(found.low ?? 0) + " 10H" + x(found.high ?? 0);
  return make("svg", { viewBox: "0 0 1000 20", preserveAspectRatio: "none", "aria-hidden": "true" },
    make("rect", { x: 0, y: 3, width: x(found.ratio), height: 14, style: `fill: var(--l${LEVELS.indexOf(row.level)})`, opacity: row.sure ? 1 : 0.55 }),
    found.low != null && found.low !== found.high ? make("path", { d: middle, stroke: "currentColor", "stroke-width": 2, "vector-effect": "non-scaling-stroke" }) : null,
    make("path", { d: `M${x(1)} 0V20`, stroke: "currentColor", "stroke-dasharray": "2 2", "vector-effect": "non-scaling-stroke" }),
    cut ? make("path", { d: "M985 3L1000 10L985 17Z", fill: "currentColor" }) : null);
}
function drawBars() {
  const found = rows.map(row => [row, ratio(row, baselineOf(row))]), most = Math.min(LONGEST, 1.04 * Math.max(1, ...found.map(([, each]) => each.high ?? each.ratio)));
  const table = make("table", { class: "bars" }, make("thead", {}, make("tr", {}, ...["Implementation", "A batch", "Over " + (rows.length ? baselineOf(rows[0]).name : ""), "Bars"].map(text => make("th", { scope: "col" }, text)))));
  for (const level of LEVELS) {
    const own = found.filter(([row]) => row.level === level);
    if (own.length) table.append(make("tbody", {}, make("tr", { class: "level" }, make("th", { scope: "rowgroup", colspan: 4 }, level[0].toUpperCase() + level.slice(1), " ", make("small", {}, DATA.levels[level]))),
      ...own.flatMap(([row, each]) => [make("tr", {}, make("th", { scope: "row" }, button(row)), make("td", { class: "n" }, `${time(row.wall_median_s)} ${percent(row)}`), make("td", { class: "n" }, times(each.ratio) + (each.low === each.high ? "" : bracket(each))), make("td", { class: "bar" }, bar(row, each, most))),
        ...(row.key === state.baseline ? [make("tr", { class: "level" }, make("td", { colspan: 4 }, detail(row)))] : [])])));
  }
  return table;
}

// Lines over a length, a batch size, threads or years: time, or where a baseline is chosen the time over its.
function drawLines() {
  const W = 900, H = 420, L = 62, R = 30, T = 14, B = 44, over = rows.some(row => row.key === state.baseline);
  const clicked = state.view === "year" ? null : state.baseline;
  const value = row => { if (!over) return { ratio: row.wall_median_s, low: row.sure ? row.wall_low_s : null, high: row.sure ? row.wall_high_s : null }; return ratio(row, baselineOf(row)); };
  const drawn = rows.filter(row => !over || state.view === "year" || rows.some(each => each.group === row.group && each.key === clicked)).map(row => ({ row, y: value(row) }));
  const lineOf = row => state.view === "year" ? row.id : row.key, lines = [...new Set(drawn.map(each => lineOf(each.row)))];
  const xs = [...new Set(drawn.map(each => each.row.x))].sort((a, b) => a - b), ys = drawn.flatMap(({ y }) => [y.low ?? y.ratio, y.high ?? y.ratio]);
  const scale = state.view === "year" ? v => v : Math.log, [x0, x1] = [scale(xs[0]), scale(xs.at(-1))], [y0, y1] = [Math.log(Math.min(...ys)), Math.log(Math.max(...ys))];
  const X = v => L + (W - L - R) * (scale(v) - x0) / (x1 - x0 || 1), Y = v => H - B - (H - T - B) * (Math.log(v) - y0) / (y1 - y0 || 1);
  const svg = make("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": `${over ? "Time over the baseline's" : "Time of a batch"} over ${state.view}; the table below has the numbers` });
  const ticks = []; for (let power = Math.floor(y0 / Math.LN10); power <= y1 / Math.LN10 + 1; power++) for (const step of y1 - y0 > 5 ? [1] : [1, 2, 5]) ticks.push(step * 10 ** power);
  for (const tick of ticks.filter(each => Math.log(each) >= y0 - 0.01 && Math.log(each) <= y1 + 0.01)) svg.append(make("path", { d: `M${L} ${Y(tick)}H${W - R}`, stroke: "var(--line)" }), make("text", { x: L - 6, y: Y(tick) + 4, "text-anchor": "end" }, over ? digits(tick, 2) + "×" : time(tick).replace(/\.0+ /, " ")));
  for (const x of xs) svg.append(make("text", { x: X(x), y: H - B + 18, "text-anchor": "middle" }, state.view === "year" ? String(x) : x.toLocaleString("en")));
  svg.append(make("text", { x: (W + L - R) / 2, y: H - 6, "text-anchor": "middle" }, DATA.axes[state.view] ?? "year"));
  const legend = make("ol"), ends = lines.map(name => { const { row, y } = drawn.filter(each => lineOf(each.row) === name).sort((a, b) => b.row.x - a.row.x)[0]; return { name, x: X(row.x), y: Y(y.ratio) }; }).sort((a, b) => a.y - b.y);
  ends.forEach((end, at) => { for (const other of ends.slice(0, at)) if (other.x === end.x && end.y < other.y + 12) end.y = other.y + 12; });
  lines.forEach((name, number) => {
    const own = drawn.filter(each => lineOf(each.row) === name).sort((a, b) => a.row.x - b.row.x), { row } = own.at(-1), color = `var(--l${LEVELS.indexOf(row.level)})`;
    svg.append(make("path", { d: own.map(({ row, y }, at) => `${at ? "L" : "M"}${X(row.x)} ${Y(y.ratio)}`).join(""), fill: "none", style: `stroke: ${color}`, "stroke-width": row.key === state.baseline ? 4 : 2 }));
    for (const { row, y } of own) svg.append(make("g", {}, make("title", {}, `${row.name} ${row.version}, ${row.x}: ${over ? times(y.ratio) + bracket(y) : time(y.ratio)}`), y.low != null ? make("path", { d: `M${X(row.x)} ${Y(y.low)}V${Y(y.high)}`, style: `stroke: ${color}` }) : null, make("circle", { cx: X(row.x), cy: Y(y.ratio), r: 3.5, style: `fill: ${color}` })));
    const end = ends.find(each => each.name === name);
    svg.append(make("text", { x: end.x + 8, y: end.y + 4 }, String(number + 1)));
    legend.append(make("li", {}, make("span", { class: "key", style: `background: ${color}` }), button(row)));
  });
  const chosen = rows.find(row => row.key === state.baseline && row.group.benchmark === state.benchmark);
  return make("div", { id: "lines" }, svg, legend, chosen ? detail(chosen) : null);
}

function detail(row) {
  const found = ratio(row, rows.filter(each => each.group === row.group && each.level !== LIMIT)[0] ?? row), parts = (...children) => make("span", {}, ...children);
  const benchmark = row.group.benchmark, named = DATA.benchmarks[benchmark].document, chosen = `${row.id} in ${row.environment} for ${row.group.phase} on ${benchmark}`;
  const facts = [
    ["What it is", row.does], ["What can be changed", `${row.level}: ${DATA.levels[row.level]}`],
    ["Source", make("code", {}, row.source)], ["Versions", `${row.version} (environment ${row.environment})`],
    ["A batch", `${time(row.wall_median_s)}${row.sure ? `, 95 % interval ${time(row.wall_low_s)} to ${time(row.wall_high_s)}` : ", too few turns or processes for an interval"}; 99 % within ${time(row.wall_p99_s)}`],
    ["Over the fastest", times(found.ratio) + bracket(found)],
    ["Samples", `${row.processes} process${row.processes > 1 ? "es" : ""} of at least ${row.batches} batches; medians of ${row.process_medians.length > row.processes ? "their turns" : "each"}: ${row.process_medians.map(each => time(each / 1000 * row.wall_median_s)).join(", ")}`],
    ["Start-up", `${time(row.start_s)} before the second batch (building, compiling, first batch), import ${time(row.import_s)}`],
    ["Peak memory", bytes(row.peak_memory_bytes) + (row.device_peak_bytes ? `, ${bytes(row.device_peak_bytes)} on the device` : "")],
    ["Error", row.error == null ? "–" : `${row.error.toExponential(1)} against the float64 reference (largest relative error)`],
    row.gflops ? ["Rate", `${digits(row.gflops, 3)} GFLOP/s`] : null,
    row.published_wall_s ? ["Published", `${time(row.published_wall_s)} a batch`] : null,
    row.use ? ["How to get it", parts(row.install ? make("code", {}, row.install) : null, row.install ? "; " : "", row.use)] : null,
    ["Measure it on your machine", make("pre", {}, `snakemake --cores all --config documents='[${named}]' \\\n  overrides='{${named}: {benchmarks: [${benchmark}], implementations: ["${chosen}"]}}'`)],
  ].filter(Boolean);
  return make("section", { id: "detail", "aria-label": "Details of " + row.name }, make("h3", {}, row.name), make("dl", {}, ...facts.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)])));
}

const NUMBER = (key, label) => [key, label, row => row[key]];
const COLUMNS = [
  ["name", "implementation", row => row.name], ["level", "level", row => row.level], ["environment", "versions", row => row.environment], ["version", "version", row => row.version],
  ["benchmark", "benchmark", row => row.group.benchmark], NUMBER("wall_median_s", "batch (s)"), ["wall_low_s", "low", row => row.sure ? row.wall_low_s : null], ["wall_high_s", "high", row => row.sure ? row.wall_high_s : null],
  ["ratio", "over baseline", row => ratio(row, baselineOf(row)).ratio], ["ratio_low", "low", row => ratio(row, baselineOf(row)).low], ["ratio_high", "high", row => ratio(row, baselineOf(row)).high],
  NUMBER("wall_p99_s", "99 % within (s)"), NUMBER("start_s", "start-up (s)"), NUMBER("peak_memory_bytes", "memory (bytes)"), NUMBER("error", "error"), NUMBER("gflops", "GFLOP/s"), NUMBER("published_wall_s", "published (s)"), NUMBER("processes", "processes"), NUMBER("batches", "batches"),
];
function sorted() {
  const column = COLUMNS.find(([key]) => key === state.sort);
  if (!column) return rows;
  const order = (a, b) => { const [x, y] = [column[2](a), column[2](b)]; if (x == null || y == null) return (x == null) - (y == null); return (typeof x === "number" ? x - y : String(x).localeCompare(String(y))) * (state.down ? -1 : 1); };
  return [...rows].sort(order);
}
function drawTable() {
  const heads = COLUMNS.map(([key, label]) => {
    const found = make("button", { type: "button" }, label), down = state.sort === key && !state.down;
    found.addEventListener("click", () => { change({ sort: key, down: down ? "1" : "" }); $("table").querySelector(`[data-key=${key}] button`).focus(); });
    return make("th", { scope: "col", "data-key": key, "aria-sort": state.sort === key ? state.down ? "descending" : "ascending" : null }, found);
  });
  const cell = value => make("td", { class: typeof value === "number" ? "n" : null }, value == null ? "–" : typeof value === "number" ? digits(value, 4) : value);
  $("table").replaceChildren(make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...sorted().map(row => make("tr", {}, ...COLUMNS.map(([, , of]) => cell(of(row)))))));
}
function download() {
  const quoted = value => value == null ? "" : /[",\n]/.test(value) ? `"${String(value).replace(/"/g, '""')}"` : String(value);
  const place = ["machine", "device", "phase"], text = [[...place, ...COLUMNS.map(([key]) => key)], ...sorted().map(row => [...place.map(key => row.group[key]), ...COLUMNS.map(([, , of]) => of(row))])].map(line => line.map(quoted).join(",")).join("\n");
  const link = make("a", { href: URL.createObjectURL(new Blob([text + "\n"], { type: "text/csv" })), download: `${state.benchmark}-${state.phase}.csv` });
  link.click(); URL.revokeObjectURL(link.href);
}
function missing() {
  const group = groupOf(state.benchmark), found = group.missing.map(([name, environment, status, reason]) => ({ ...DATA.implementations[name], ...DATA.environments[environment], called: DATA.implementations[name].name, status, reason })).filter(kept);
  return found.length ? make("p", {}, "Not timed: " + found.map(each => `${each.called}${each.current ? "" : ` (${each.year})`}: ${each.status}${each.reason ? `, ${each.reason}` : ""}`).join("; ") + ".") : "";
}
function draw() {
  const focused = document.activeElement?.dataset?.row;
  rows = points();
  drawPick();
  $("headline").replaceChildren(...headline());
  $("view").replaceChildren(!rows.length ? make("p", {}, "Nothing was measured here.") : state.view === "bars" ? drawBars() : drawLines());
  drawTable();
  $("missing").replaceChildren(missing());
  if (focused) $("view").querySelector(`[data-row="${CSS.escape(focused)}"]`)?.focus();
}
$("csv").addEventListener("click", download);
function restore() { const named = read(); settle(); draw(); if (named) $("explorer").scrollIntoView(); }
addEventListener("hashchange", restore);
if (DATA.groups.length) restore(); else $("explorer").replaceChildren(make("p", {}, "Nothing has been measured yet."));
