const NUMBER = (key, label) => [key, label, row => row[key]];
const COLUMNS = [
  ["name", "implementation", row => row.name],
  ["level", "level", row => row.level],
  ["environment", "environment", row => row.environment],
  ["version", "version", row => row.version],
  ["benchmark", "benchmark", row => row.group.benchmark],
  NUMBER("wall_median_s", "batch (s)"),
  ["wall_low_s", "batch, low (s)", row => (row.sure ? row.wall_low_s : null)],
  ["wall_high_s", "batch, high (s)", row => (row.sure ? row.wall_high_s : null)],
  ["ratio", "over baseline", row => ratio(row, baselineOf(row)).ratio],
  ["ratio_low", "over baseline, low", row => ratio(row, baselineOf(row)).low],
  ["ratio_high", "over baseline, high", row => ratio(row, baselineOf(row)).high],
  NUMBER("wall_p99_s", "99 % within (s)"),
  NUMBER("start_s", "start-up (s)"),
  ["peak_memory_gib", "memory (GiB)", row => (row.peak_memory_bytes == null ? null : row.peak_memory_bytes / 2 ** 30)],
  NUMBER("error", "error"),
  NUMBER("gflops", "GFLOP/s"),
  NUMBER("published_wall_s", "published (s)"),
  NUMBER("processes", "processes"),
  NUMBER("batches", "batches"),
];
function sorted() {
  const column = COLUMNS.find(([key]) => key === state.sort);
  if (!column) return rows;
  const order = (a, b) => {
    const [x, y] = [column[2](a), column[2](b)];
    if (x == null || y == null) return (x == null) - (y == null);
    return (typeof x === "number" ? x - y : String(x).localeCompare(String(y))) * (state.down ? -1 : 1);
  };
  return [...rows].sort(order);
}
function drawTable() {
  const heads = COLUMNS.map(([key, label]) => {
    const found = make("button", { type: "button", title: `${key} in the CSV file` }, label),
      down = state.sort === key && !state.down;
    found.addEventListener("click", () => {
      change({ sort: key, down: down ? "1" : "" });
      $("table").querySelector(`[data-key=${key}] button`).focus();
    });
    const order = state.sort === key ? (state.down ? "descending" : "ascending") : null;
    return make("th", { scope: "col", "data-key": key, "aria-sort": order }, found);
  });
  const cell = value =>
    typeof value === "number" ? make("td", { class: "n" }, digits(value, 4)) : make("td", {}, value ?? "–");
  $("table").replaceChildren(
    make("thead", {}, make("tr", {}, ...heads)),
    make("tbody", {}, ...sorted().map(row => make("tr", {}, ...COLUMNS.map(([, , of]) => cell(of(row)))))),
  );
}
function download() {
  const quoted = value =>
    value == null ? "" : /[",\n]/.test(value) ? `"${String(value).replace(/"/g, '""')}"` : String(value);
  const place = ["machine", "device", "phase"],
    text = [
      [...place, ...COLUMNS.map(([key]) => key)],
      ...sorted().map(row => [...place.map(key => row.group[key]), ...COLUMNS.map(([, , of]) => of(row))]),
    ]
      .map(line => line.map(quoted).join(","))
      .join("\n");
  const link = make("a", {
    href: URL.createObjectURL(new Blob([text + "\n"], { type: "text/csv" })),
    download: `${state.benchmark}-${state.phase}.csv`,
  });
  link.click();
  URL.revokeObjectURL(link.href);
}
function missing() {
  const found = (groupOf(state.benchmark)?.missing ?? [])
    .map(([name, environment, why]) => ({
      ...DATA.implementations[name],
      ...DATA.environments[environment],
      text: DATA.reasons[why],
      called: DATA.implementations[name].name,
    }))
    .filter(kept)
    .map(each => [`${each.called}${each.current ? "" : ` (${each.year})`}`, each.text]);
  const reasons = [...new Set(found.map(([, text]) => text))];
  const said = reasons.map(reason => {
    const own = found.filter(([, text]) => text === reason).map(([name]) => name);
    return `${own.join(", ")}: ${reason}`;
  });
  return said.length ? make("p", {}, `Not timed: ${said.join("; ")}.`) : "";
}
function nothing() {
  if (groupOf(state.benchmark)) return "None of the chosen frameworks has a number here.";
  const others = DATA.groups.filter(group => group.benchmark === state.benchmark).map(group => group.machine);
  const names = [...new Set(others)].map(machine => DATA.machines[machine]);
  return `${state.benchmark} was not measured on ${DATA.machines[state.machine]}; it was on ${names.join(", ")}.`;
}
function draw() {
  const focused = document.activeElement?.dataset?.row;
  rows = points();
  drawPick();
  $("headline").replaceChildren(notice, ...headline());
  $("view").replaceChildren(!rows.length ? make("p", {}, nothing()) : state.view === "bars" ? drawBars() : drawLines());
  drawTable();
  $("missing").replaceChildren(missing());
  if (focused) $("view").querySelector(`[data-row="${CSS.escape(focused)}"]`)?.focus();
}
$("csv").addEventListener("click", download);
function restore() {
  const named = read();
  settle();
  if (notice) write(true);
  draw();
  if (named) $("explorer").scrollIntoView();
}
addEventListener("hashchange", restore);
if (DATA.groups.length) restore();
else $("explorer").replaceChildren(make("p", {}, "Nothing has been measured yet."));
