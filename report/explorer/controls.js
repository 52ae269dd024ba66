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
// Those of the chosen benchmark; none chosen means all.
function frameworkChoices(all) {
  const there = [...new Set(all.filter(row => row.level !== LIMIT || state.limits).map(row => row.framework))].sort();
  const chosen = new Set(frameworks() ?? there);
  const toggled = (value, on) => {
    if (on) chosen.add(value);
    else chosen.delete(value);
    const count = there.filter(name => chosen.has(name)).length;
    change({ frameworks: count === there.length || !count ? "" : [...chosen].join(",") });
  };
  const entries = there.map(name => [name, name]);
  return choices("frameworks", "Frameworks", entries, "checkbox", value => chosen.has(value), toggled);
}
function limitChoice() {
  const toggled = (value, on) => change({ limits: on ? "1" : "" });
  return choices(
    "limits",
    "Upper bounds",
    [["1", "products and peak"]],
    "checkbox",
    () => Boolean(state.limits),
    toggled,
  );
}
function radio(key, label, entries) {
  const chosen = value => value === state[key];
  return choices(key, label, entries, "radio", chosen, value => change({ [key]: value }));
}
function drawPick() {
  const focused = document.activeElement?.id;
  const all = unpack(groupOf(state.benchmark));
  const benchmarks = DATA.documents.map(({ name, title }) => {
    const own = options("benchmark").filter(each => DATA.benchmarks[each].document === name);
    return [title, own.map(each => [each, `${each} (${DATA.benchmarks[each].shape})`])];
  });
  const machines = options("machine").map(each => [each, DATA.machines[each]]);
  const since = "all since " + Math.min(...all.map(row => row.year));
  const versions = [
    ["current", "current"],
    ["all", since],
  ];
  const phases = options("phase").map(each => [each, each]);
  const devices = options("device").map(each => [each, each.toUpperCase()]);
  const found = [
    select(
      "benchmark",
      "Benchmark",
      benchmarks.filter(([, entries]) => entries.length),
    ),
    machines.length > 1 ? select("machine", "Machine", [["", machines]]) : null,
    radio("phase", "Phase", phases),
    radio("device", "Device", devices),
    radio("versions", "Versions", all.some(row => !row.current) ? versions : []),
    radio("view", "Show", views()),
    frameworkChoices(all),
    all.some(row => row.level === LIMIT) ? limitChoice() : null,
  ];
  $("pick").replaceChildren(...found.filter(Boolean));
  if (focused && $("pick").querySelector("#" + CSS.escape(focused))) $(focused).focus();
}
