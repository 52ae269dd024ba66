// Text whose code is in backquotes.
const code = text => text.split("`").map((part, at) => (at % 2 ? make("code", {}, part) : part));
const bold = text => make("b", {}, text);
const color = row => `var(--l${LEVELS.indexOf(row.level)})`;
// The fastest, and how far it leads other frameworks.
function fastest(lstms, operators) {
  const [best] = lstms;
  const next = lstms.find(row => row.framework !== best.framework) ?? lstms[1];
  const written = best === operators[0] ? ", written from basic operators," : "";
  const said = [bold(best.name), `${written} is the fastest, ${time(best.wall_median_s)} a batch`];
  if (!next) return [...said, "."];
  const found = ratio(next, best);
  const place = next.framework === best.framework ? "next, " : "of other frameworks, ";
  const unsure = found.low != null && found.low <= 1 ? " (undecided)" : "";
  return [...said, `; ${place}${next.name} takes `, bold(times(found.ratio)), `${bracket(found)} its time${unsure}.`];
}
// The headline where a baseline was chosen.
function compared(place, best, base, operators) {
  const text = row => [bold(times(ratio(row, base).ratio)), bracket(ratio(row, base))];
  const first = best === base ? " is the fastest implementation" : [` takes ${time(base.wall_median_s)} a batch; the fastest, ${best.name}, `, ...text(best), " of that"];
  const ends = [...new Set([operators[0], operators.at(-1)])].filter(row => row && row !== base);
  const others = ends.flatMap((row, at) => [at ? " to " : "; layers written from basic operators take ", ...text(row)]);
  return [place, bold(base.name), ...first, ...others, "."];
}
function headline() {
  const lstms = rows.filter(row => row.level !== LIMIT),
    best = lstms[0],
    place = `${DATA.machines[state.machine]}, ${state.phase}, ${DATA.benchmarks[state.benchmark].shape}: `;
  const versions = state.versions === "all" ? lstms : lstms.filter(row => row.current),
    operators = versions.filter(row => OPERATORS.includes(row.level));
  if (state.view !== "bars" || !best) return [];
  const base = rows.find(row => row.key === state.baseline);
  if (base) return compared(place, best, base, operators);
  if (!operators.length || operators[0] === best) return [place, ...fastest(lstms, operators)];
  const ends = [operators[0], operators.at(-1)].map(row => ratio(row, best)),
    text = found => [bold(times(found.ratio)), bracket(found)];
  const said = [
    place,
    "layers written from basic operators take ",
    ...text(ends[0]),
    ...(operators.length > 1 ? [" to ", ...text(ends[1])] : []),
    ` the time of the fastest implementation (${best.name}, ${time(best.wall_median_s)} a batch).`,
  ];
  const own = [...new Set(operators.map(row => row.framework))].flatMap(name => {
    const written = operators.filter(row => row.framework === name),
      other = versions.find(row => row.framework === name && row.level === FUSED && row.install);
    const text = row => times(ratio(row, other).ratio) + bracket(ratio(row, other));
    return other ? [`${name} ${[...new Set([written[0], written.at(-1)])].map(text).join(" to ")}`] : [];
  });
  return own.length ? [...said, ` Over their own framework's fused kernel: ${own.join(", ")}.`] : said;
}

function button(row) {
  const title = `${row.does} ${row.version}. Click to compare the others with it and to see details.`;
  const pressed = String(row.key === state.baseline);
  const attributes = { type: "button", "aria-pressed": pressed, "data-row": row.key, title };
  const found = make("button", attributes, row.name, " ", make("small", {}, row.version.split(/[-+]/)[0]));
  found.addEventListener("click", () => change({ baseline: row.key === state.baseline ? "" : row.key }));
  return found;
}
function bar(row, found, most) {
  const x = value => ((1000 * Math.min(value, most)) / most).toFixed(1),
    cut = found.ratio > most,
    middle = "M" + x(found.low ?? 0) + " 10H" + x(found.high ?? 0),
    known = found.low != null && found.low !== found.high,
    line = { stroke: "currentColor", "vector-effect": "non-scaling-stroke" },
    style = `fill: ${color(row)}`;
  return make(
    "svg",
    { viewBox: "0 0 1000 20", preserveAspectRatio: "none", "aria-hidden": "true" },
    make("rect", { x: 0, y: 3, width: x(found.ratio), height: 14, style, opacity: row.sure ? 1 : 0.55 }),
    known ? make("path", { ...line, d: middle, "stroke-width": 2 }) : null,
    make("path", { ...line, d: `M${x(1)} 0V20`, "stroke-dasharray": "2 2" }),
    cut ? make("path", { d: "M985 3L1000 10L985 17Z", fill: "currentColor" }) : null,
  );
}
function drawBar(row, found, most) {
  const cells = [
    make("th", { scope: "row" }, button(row)),
    make("td", { class: "n" }, `${time(row.wall_median_s)} ${within(row)}`),
    make("td", { class: "n" }, times(found.ratio) + (found.low == null ? " (no interval)" : found.low === found.high ? "" : bracket(found))),
    make("td", { class: "bar" }, bar(row, found, most)),
  ];
  const line = make("tr", {}, ...cells);
  if (row.key !== state.baseline) return [line];
  return [line, make("tr", { class: "level" }, make("td", { colspan: 4 }, detail(row)))];
}
function drawBars() {
  const found = rows.map(row => [row, ratio(row, baselineOf(row))]);
  const most = Math.min(LONGEST, 1.04 * Math.max(1, ...found.map(([, each]) => each.high ?? each.ratio)));
  const heads = ["Implementation", "Time of a batch", "Relative to " + baselineOf(rows[0]).name, "Below 1× is faster"];
  const head = make("tr", {}, ...heads.map(text => make("th", { scope: "col" }, text)));
  const table = make("table", { class: "bars" }, make("thead", {}, head));
  for (const level of LEVELS) {
    const own = found.filter(([row]) => row.level === level);
    if (!own.length) continue;
    const means = make("small", {}, DATA.levels[level]);
    const title = make("th", { scope: "rowgroup", colspan: 4 }, level[0].toUpperCase() + level.slice(1), " ", means);
    const bars = own.flatMap(([row, each]) => drawBar(row, each, most));
    table.append(make("tbody", {}, make("tr", { class: "level" }, title), ...bars));
  }
  return table;
}

// Lines over a length, a batch size, threads or years: time, or where a baseline is chosen the time over its.
const WIDE = { width: 900, height: 420, left: 62, right: 250, top: 14, bottom: 44 };
const FRAME = matchMedia("(max-width: 40rem)").matches ? { ...WIDE, width: 420, right: 12 } : WIDE; // names in the legend only
const MANY = 100; // batches of which 99 % are told
const LINE_HEIGHT = 12; // of the numbers at the ends of lines

// The points of all lines, by x: {row, y: time or ratio with its interval, line: its name}.
function linePoints(over) {
  const yearly = state.view === "year";
  const hasBaseline = row => rows.some(each => each.group === row.group && each.key === state.baseline);
  const ends = row => (row.sure ? { low: row.wall_low_s, high: row.wall_high_s } : { low: null, high: null });
  const alone = row => ({ ratio: row.wall_median_s, ...ends(row) });
  return rows
    .filter(row => !over || yearly || hasBaseline(row))
    .map(row => ({ row, y: over ? ratio(row, baselineOf(row)) : alone(row), line: yearly ? row.id : row.key }))
    .sort((a, b) => a.row.x - b.row.x);
}

// X and Y: from values to places; logarithmic, but for years.
function scales(drawn) {
  const { width, height, left, right, top, bottom } = FRAME;
  const xs = [...new Set(drawn.map(({ row }) => row.x))];
  const ys = drawn.flatMap(({ y }) => [y.low ?? y.ratio, y.high ?? y.ratio]);
  const scale = state.view === "year" ? value => value : Math.log;
  const [x0, x1] = [scale(xs[0]), scale(xs.at(-1))];
  const [y0, y1] = [Math.log(Math.min(...ys)), Math.log(Math.max(...ys))];
  const X = value => left + ((width - left - right) * (scale(value) - x0)) / (x1 - x0 || 1);
  const Y = value => height - bottom - ((height - top - bottom) * (Math.log(value) - y0)) / (y1 - y0 || 1);
  return { X, Y, xs, y0, y1 };
}

function drawAxes(svg, { X, Y, xs, y0, y1 }, over) {
  const { width, height, left, right, bottom } = FRAME;
  const ticks = [];
  for (let power = Math.floor(y0 / Math.LN10); power <= y1 / Math.LN10 + 1; power++)
    for (const step of y1 - y0 > 5 ? [1] : [1, 2, 5]) ticks.push(step * 10 ** power);
  for (const tick of ticks.filter(each => Math.log(each) >= y0 - 0.01 && Math.log(each) <= y1 + 0.01)) {
    const text = over ? digits(tick, 2) + "×" : time(tick).replace(/\.0+ /, " ");
    svg.append(make("path", { d: `M${left} ${Y(tick)}H${width - right}`, stroke: "var(--line)" }));
    svg.append(make("text", { x: left - 6, y: Y(tick) + 4, "text-anchor": "end" }, text));
  }
  for (const x of xs) {
    const text = state.view === "year" ? String(x) : x.toLocaleString("en");
    svg.append(make("text", { x: X(x), y: height - bottom + 18, "text-anchor": "middle" }, text));
  }
  const place = { x: (width + left - right) / 2, y: height - 6, "text-anchor": "middle" };
  svg.append(make("text", place, DATA.axes[state.view] ?? "year"));
}

const DASHES = ["", "7 3", "2 3", "9 3 2 3", "4 4", "12 3"];
function drawLine(svg, own, { X, Y }, over, number) {
  const { row } = own.at(-1);
  const fill = color(row),
    stroke = `stroke: ${fill}`;
  const d = own.map(({ row, y }, at) => `${at ? "L" : "M"}${X(row.x)} ${Y(y.ratio)}`).join("");
  const width = row.key === state.baseline ? 4 : 2;
  const dashes = DASHES[number % DASHES.length];
  svg.append(make("path", { d, fill: "none", style: stroke, "stroke-width": width, "stroke-dasharray": dashes }));
  for (const { row, y } of own) {
    const text = `${row.name} ${row.version}, ${row.x}: ${over ? times(y.ratio) + bracket(y) : time(y.ratio)}`;
    const interval = { d: `M${X(row.x)} ${Y(y.low)}V${Y(y.high)}`, style: stroke };
    const circle = { cx: X(row.x), cy: Y(y.ratio), r: 3.5, style: `fill: ${fill}` };
    const parts = [make("title", {}, text), y.low != null ? make("path", interval) : null, make("circle", circle)];
    svg.append(make("g", {}, ...parts));
  }
  return make("li", {}, make("span", { class: "key", style: `background: ${fill}` }), button(row));
}

// Names to the right of lines, moved apart where they would lie on each other, each with a leader to the end of its line.
function nameLines(svg, lines, { X, Y }) {
  const x = FRAME.width - FRAME.right + 14;
  const ends = lines.map(own => {
    const { row, y } = own.at(-1);
    return { row, from: X(row.x), at: Y(y.ratio), y: Y(y.ratio) };
  });
  ends.sort((a, b) => a.y - b.y);
  let least = FRAME.top + 4;
  for (const end of ends) least = (end.y = Math.max(end.y, least)) + LINE_HEIGHT;
  let most = FRAME.height - FRAME.bottom - 4;
  for (const end of [...ends].reverse()) most = (end.y = Math.min(end.y, most)) - LINE_HEIGHT;
  for (const { row, from, at, y } of ends) {
    const style = `stroke: ${color(row)}`;
    svg.append(make("path", { d: `M${from + 4} ${at}L${x - 3} ${y}`, style, "stroke-width": 0.7, opacity: 0.7 }));
    svg.append(make("text", { x, y: y + 4 }, row.name));
  }
}

function drawLines() {
  const over = rows.some(row => row.key === state.baseline);
  const drawn = linePoints(over);
  const names = [...new Set(drawn.map(each => each.line))];
  const lines = names.map(name => drawn.filter(each => each.line === name));
  const scale = scales(drawn);
  const what = over ? "Time over the baseline's" : "Time of a batch";
  const label = `${what} over ${state.view}; the table below has the numbers`;
  const svg = make("svg", { viewBox: `0 0 ${FRAME.width} ${FRAME.height}`, role: "img", "aria-label": label });
  drawAxes(svg, scale, over);
  const legend = make("ol", {}, ...lines.map((own, number) => drawLine(svg, own, scale, over, number)));
  if (FRAME === WIDE) nameLines(svg, lines, scale);
  const chosen = rows.find(row => row.key === state.baseline && row.group.benchmark === state.benchmark);
  return make("div", { id: "lines" }, svg, legend, chosen ? detail(chosen) : null);
}

// What a row's medians are of: turns; in older records processes, of which disturbed ones do not count.
function counted({ process_medians, processes }) {
  if (process_medians.length > processes) return "their turns";
  return process_medians.length < processes ? `the ${process_medians.length} that were undisturbed` : "each";
}
function detail(row) {
  const found = ratio(row, rows.find(each => each.group === row.group && each.level !== LIMIT) ?? row);
  const benchmark = row.group.benchmark,
    named = DATA.benchmarks[benchmark].document,
    chosen = `${row.id} in ${row.environment} for ${row.group.phase} on ${benchmark}`,
    selected = `{${named}: {benchmarks: [${benchmark}], implementations: ["${chosen}"]}}`;
  const install = row.install ? [make("code", {}, row.install), "; "] : [];
  const low_high = `, 95 % interval ${time(row.wall_low_s)} to ${time(row.wall_high_s)}`;
  const interval = row.sure ? low_high : ", too few turns or processes for an interval";
  const tail =
    row.batches >= MANY ? `; of a typical process's batches, 99 % within ${time(row.wall_p99_s)}` : "";
  const medians = row.process_medians.map(each => time((1 + each / 1000) * row.wall_median_s));
  const on_device = row.device_peak_bytes ? `, ${bytes(row.device_peak_bytes)} on the device` : "";
  const facts = [
    ["What it is", row.does],
    ["What can be changed", `${row.level}: ${DATA.levels[row.level]}`],
    ["Source", make("code", {}, row.source)],
    ["Versions", `${row.version} (environment ${row.environment})`],
    [
      "Time of a batch",
      `${time(row.wall_median_s)}${interval}${tail}`,
    ],
    ["Relative to the fastest", times(found.ratio) + bracket(found)],
    [
      "Samples",
      `${row.processes} process${row.processes > 1 ? "es" : ""} of at least ${row.batches} batches; medians of ${counted(row)}: ${medians.join(", ")}`,
    ],
    ["Raw samples", "the files named in the column records of cells.csv, in the results folder or its pack"],
    [
      "Start-up",
      `${time(row.start_s)} before the second batch (building, compiling, first batch), import ${time(row.import_s)}`,
    ],
    ["Peak memory", bytes(row.peak_memory_bytes) + on_device],
    [
      "Error",
      row.error == null ? "–" : `${row.error.toExponential(1)} against the float64 reference (largest relative error)`,
    ],
    row.gflops ? ["Rate", `${digits(row.gflops, 3)} GFLOP/s`] : null,
    row.published_wall_s ? ["Published", `${time(row.published_wall_s)} a batch`] : null,
    row.use ? ["How to get it", make("span", {}, ...install, ...code(row.use))] : null,
    [
      "Measure it on your machine",
      make("pre", {}, `snakemake --cores all --config documents='[${named}]' \\\n  overrides='${selected}'`),
    ],
  ].filter(Boolean);
  return make(
    "section",
    { id: "detail", "aria-label": "Details of " + row.name },
    make("h3", {}, row.name),
    make("dl", {}, ...facts.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)])),
  );
}
