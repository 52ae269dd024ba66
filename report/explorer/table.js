const NUMBER = (key, label) => [key, label, row => row[key]];
const COLUMNS = [
  ["name", "implementation", row => row.name],
  ["level", "level", row => row.level],
  ["environment", "versions", row => row.environment],
  ["version", "version", row => row.version],
  ["benchmark", "benchmark", row => row.group.benchmark],
  NUMBER("wall_median_s", "batch (s)"),
  ["wall_low_s", "low", row => (row.sure ? row.wall_low_s : null)],
  ["wall_high_s", "high", row => (row.sure ? row.wall_high_s : null)],
  ["ratio", "over baseline", row => ratio(row, baselineOf(row)).ratio],
  ["ratio_low", "low", row => ratio(row, baselineOf(row)).low],
  ["ratio_high", "high", row => ratio(row, baselineOf(row)).high],
  NUMBER("wall_p99_s", "99 % within (s)"),
  NUMBER("start_s", "start-up (s)"),
  NUMBER("peak_memory_bytes", "memory (bytes)"),
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
    const found = make("button", { type: "button" }, label),
      down = state.sort === key && !state.down;
    found.addEventListener("click", () => {
      change({ sort: key, down: down ? "1" : "" });
      $("table").querySelector(`[data-key=${key}] button`).focus();
    });
    return make(
      "th",
      {
        scope: "col",
        "data-key": key,
        "aria-sort": state.sort === key ? (state.down ? "descending" : "ascending") : null,
      },
      found,
    );
  });
  const cell = value =>
    make(
      "td",
      { class: typeof value === "number" ? "n" : null },
      value == null ? "–" : typeof value === "number" ? digits(value, 4) : value,
    );
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
  const { missing } = groupOf(state.benchmark);
  const found = missing
    .map(([name, environment, status, reason]) => ({
      ...DATA.implementations[name],
      ...DATA.environments[environment],
      text: `${status}${reason ? `, ${reason}` : ""}`,
      called: DATA.implementations[name].name,
    }))
    .filter(kept)
    .map(each => `${each.called}${each.current ? "" : ` (${each.year})`}: ${each.text}`);
  return found.length ? make("p", {}, `Not timed: ${found.join("; ")}.`) : "";
}
function draw() {
  const focused = document.activeElement?.dataset?.row;
  rows = points();
  drawPick();
  $("headline").replaceChildren(...headline());
  $("view").replaceChildren(
    !rows.length ? make("p", {}, "Nothing was measured here.") : state.view === "bars" ? drawBars() : drawLines(),
  );
  drawTable();
  $("missing").replaceChildren(missing());
  if (focused)
    $("view")
      .querySelector(`[data-row="${CSS.escape(focused)}"]`)
      ?.focus();
}
$("csv").addEventListener("click", download);
function restore() {
  const named = read();
  settle();
  draw();
  if (named) $("explorer").scrollIntoView();
}
addEventListener("hashchange", restore);
if (DATA.groups.length) restore();
else $("explorer").replaceChildren(make("p", {}, "Nothing has been measured yet."));
