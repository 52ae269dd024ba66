function select(key, label, entries, chosen, changed) {
  const made = entries.map(([value, text]) => make("option", { value, selected: value === chosen }, text));
  const list = make("select", { id: key, name: key }, ...made);
  list.addEventListener("change", () => change(changed(list.value)));
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
    const all = there.every(name => chosen.has(name));
    change({ frameworks: all ? "" : [...chosen].join(",") || NOBODY });
  };
  const entries = there.map(name => [name, name]);
  return choices("frameworks", "Frameworks", entries, "checkbox", value => chosen.has(value), toggled);
}
function limitChoice() {
  const entries = [["1", "products and peak"]];
  const toggled = (value, on) => change({ limits: on ? "1" : "" });
  return choices("limits", "Reference points", entries, "checkbox", () => Boolean(state.limits), toggled);
}
function radio(key, label, entries) {
  const chosen = value => value === state[key];
  return choices(key, label, entries, "radio", chosen, value => change({ [key]: value }));
}
function drawPick() {
  const focused = document.activeElement?.id;
  const group = groupOf(state.benchmark);
  const all = group ? unpack(group) : [];
  const named = DATA.benchmarks[state.benchmark].document;
  const of = name => options("benchmark").filter(each => DATA.benchmarks[each].document === name);
  const here = new Set(DATA.groups.filter(each => each.machine === state.machine).map(each => each.benchmark));
  const benchmarks = of(named).map(each => {
    const lacking = here.has(each) ? "" : " – not measured on this machine";
    return [each, `${DATA.benchmarks[each].shape} (${each})${lacking}`];
  });
  const documents = DATA.documents.map(({ name, title }) => [name, title.split(":")[0]]);
  const machines = options("machine").map(each => [each, `${DATA.machines[each]} (${DATA.days[each]})`]);
  const since = "all since " + Math.min(...all.map(row => row.year));
  const versions = ["current", "all"].map(each => [each, each === "all" ? since : each]);
  const phases = options("phase").map(each => [each, each]);
  const devices = options("device").map(each => [each, each.toUpperCase()]);
  const first = name => ({ benchmark: of(name).find(each => here.has(each)) ?? of(name)[0] });
  const found = [
    documents.length > 1 ? select("document", "Document", documents, named, first) : null,
    select("benchmark", "Benchmark", benchmarks, state.benchmark, benchmark => ({ benchmark })),
    machines.length > 1
      ? select("machine", "Machine, of the chart and the table", machines, state.machine, machine => ({ machine }))
      : null,
    radio("phase", "Phase", phases),
    radio("device", "Device", devices),
    radio("versions", "Versions", all.some(row => !row.current) && state.view !== "year" ? versions : []),
    radio("view", "Show", views()),
    frameworkChoices(all),
    all.some(row => row.level === LIMIT) ? limitChoice() : null,
  ];
  $("pick").replaceChildren(...found.filter(Boolean));
  if (focused && $("pick").querySelector("#" + CSS.escape(focused))) $(focused).focus();
}
