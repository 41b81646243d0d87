// Under the hood and what changed: pictures of the run report.

function spectrumChart() {
  const { values, floor, k } = data.spectrum;
  const rows = values.map((value, i) => ({ number: i + 1, value, size: Math.abs(value), kept: i < k })).filter((row) => row.size > 0);
  const width = Math.max(byId("spectrum").clientWidth || 600, 240), slim = width < 560;
  const shared = { x: "number", y: "size", title: (row) => `${row.number}: ${row.value.toPrecision(3)}${row.kept ? ", a topic" : ""}`, tip: { fill: colour("card"), stroke: colour("line") } };
  const marks = [
    Plot.dot(rows.filter((row) => row.value > 0), { ...shared, r: 3.2, fill: (row) => colour(row.kept ? "accent" : "card"), stroke: (row) => colour(row.kept ? "accent" : "quiet") }),
    Plot.dot(rows.filter((row) => row.value < 0), { ...shared, r: 2.6, symbol: "times", stroke: colour("quiet") }),
  ];
  if (rows.length > k) {
    marks.push(Plot.ruleX([k + 0.5], { stroke: colour("accent"), strokeDasharray: "4,3" }),
      Plot.text([k + 0.5], { x: (d) => d, frameAnchor: "top", text: () => plural(k, "topic"), dx: 6, dy: 4, textAnchor: "start", fill: colour("accent"), fontWeight: 600 }));
  }
  if (floor > 0) {
    marks.push(Plot.ruleY([floor], { stroke: colour("b"), strokeWidth: 1.5 }),
      Plot.text([floor], { y: (d) => d, frameAnchor: "left", text: () => "noise floor", dx: 6, dy: 10, textAnchor: "start", fill: colour("b"), fontWeight: 600 }));
  }
  return Plot.plot({
    width, height: slim ? 240 : 300, marginLeft: 56, marginBottom: 40, style: { fontSize: "12.5px", background: "transparent" },
    ariaLabel: `Spectrum of ${plural(values.length, "value")}; the first ${k} became topics`,
    x: { label: "direction", tickFormat: (d) => (Number.isInteger(d) ? String(d) : ""), ticks: slim ? 5 : 10 },
    y: { label: "strength", type: "log", grid: true, ticks: 5, tickFormat: (d) => d.toPrecision(1).replace(/\.?0+e/, "e") },
    marks,
  });
}

function spectrumNote() {
  const negative = data.spectrum.values.some((value) => value < 0);
  return negative ? h("p", { class: "hint" }, "A cross is a negative value, drawn by its size: only noise is negative.") : "";
}

function spectrumTable() {
  const { values, k } = data.spectrum;
  return h("details", { class: "fold" }, h("summary", {}, "The spectrum as a table"), h("div", { class: "scroll" }, h("table", {},
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Direction"), h("th", { scope: "col", class: "number" }, "Strength"), h("th", { scope: "col" }, "Became a topic"))),
    h("tbody", {}, values.map((value, i) => h("tr", {}, h("th", { scope: "row" }, String(i + 1)), h("td", { class: "number" }, Number.isFinite(value) ? value.toPrecision(4) : "–"),
      h("td", {}, i < k ? "yes" : "no")))))));
}

function passTable() {
  const most = Math.max(...data.passes.map((pass) => pass.seconds || 0));
  return h("table", { class: "bars" },
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Pass"), h("th", { scope: "col", colspan: 2 }, "Seconds"), h("th", { scope: "col", class: "number" }, "Documents"))),
    h("tbody", {}, data.passes.map((pass) => h("tr", {}, h("th", { scope: "row" }, bdi(pass.name ?? "–")), h("td", { class: "bar-cell" }, bar(pass.seconds || 0, most)),
      h("td", { class: "number" }, fixed(pass.seconds, 1)), h("td", { class: "number" }, count(pass.documents))))));
}

function drawHood() {
  if (byId("spectrum")) byId("spectrum").replaceChildren(spectrumChart(), spectrumNote(), spectrumTable());
  if (byId("passes")) byId("passes").replaceChildren(passTable());
}

function changeTable(matched) {
  const known = (topic) => Number.isInteger(topic) && topic >= 0 && topic < model.k;
  const rows = [...matched].sort((a, b) => (a.similarity ?? 1) - (b.similarity ?? 1));
  return h("div", { class: "scroll" }, h("table", { id: "change-table" },
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Topic now"), h("th", { scope: "col", class: "number wide-only" }, "Was"), h("th", { scope: "col", class: "number" }, "Words alike"),
      h("th", { scope: "col", class: "number wide-only" }, "Share before"), h("th", { scope: "col", class: "number" }, "Share now"), h("th", { scope: "col", class: "number" }, "Points"))),
    h("tbody", {}, rows.map((item) => h("tr", {},
      h("th", { scope: "row" }, known(item.topic) ? topicButton(item.topic) : String(item.topic)), h("td", { class: "number wide-only" }, String(item.previous ?? "–")),
      h("td", { class: "number" }, Number.isFinite(item.similarity) ? `${Math.round(item.similarity * 100)}%` : "–"), h("td", { class: "number wide-only" }, percent(item.weight_before)),
      h("td", { class: "number" }, percent(item.weight_after)),
      h("td", { class: "number" }, Number.isFinite(item.weight_after - item.weight_before) ? points(item.weight_after - item.weight_before) : "–"))))));
}

const DRIFT_NAMES = {
  unseen_share: ["New words the vocabulary lacks", percent], energy_outside: ["Variation the old basis misses", percent],
  energy_outside_before: ["The same, before", percent], loss: ["Loss on a sample of the new documents", (value) => value.toFixed(3)],
  loss_before: ["Loss on the old ones", (value) => value.toFixed(3)],
};

function driftPart(drift) {
  if (!drift || typeof drift !== "object") return [];
  const warnings = Array.isArray(drift.warnings) ? drift.warnings : [];
  const numbers = Object.entries(drift).filter(([, value]) => Number.isFinite(value)).map(([key, value]) => {
    const [name, show] = Object.hasOwn(DRIFT_NAMES, key) ? DRIFT_NAMES[key] : [key.replaceAll("_", " "), (x) => String(Number(x.toPrecision(4)))];
    return h("div", {}, h("dt", {}, bdi(name)), h("dd", {}, show(value)));
  });
  const verdict = warnings.length ? h("p", {}, h("strong", {}, "The new documents differ from the old ones: "), bdi(warnings.join("; ")), ".")
    : drift.drifted === false ? h("p", {}, "The new documents are of the same kind as the old ones.") : null;
  return [verdict, numbers.length ? h("dl", { class: "stats" }, numbers) : null];
}

function changeFacts(changes) {
  const born = Array.isArray(changes.new) ? changes.new : [], gone = Array.isArray(changes.vanished) ? changes.vanished : [];
  const grown = Number.isFinite(changes.documents_before) && Number.isFinite(changes.documents_after)
    ? h("p", {}, `From ${count(changes.documents_before)} to ${plural(changes.documents_after, "document")}.`) : null;
  return [
    grown,
    born.length ? h("p", {}, h("strong", {}, "New topics: "), ...born.flatMap((topic, i) => [i ? "; " : "", topic < model.k ? topicButton(topic) : String(topic)])) : null,
    gone.length ? h("p", {}, h("strong", {}, "Topics of the previous model that are gone: "), gone.join(", "), ".") : null,
    ...driftPart(changes.drift),
  ].filter(Boolean);
}

function drawChanges() {
  const body = byId("changes-body"), changes = data.changes;
  if (!body || !changes) return;
  const matched = (changes.topics ?? changes.matched ?? []).filter((item) => item.previous !== null);
  const moved = matched.filter((item) => item.similarity < 0.8).length;
  const words = matched.length ? h("p", {}, `${count(matched.length - moved)} of ${plural(matched.length, "topic")} kept at least 80% of their words`,
    moved ? `; ${moved === 1 ? "the one that" : `the ${count(moved)} that`} changed more come first in the table.` : ".") : null;
  body.replaceChildren(h("div", { class: "card" }, ...[words, ...changeFacts(changes), matched.length ? changeTable(matched) : null].filter(Boolean)));
}

function startCharts() {
  drawChanges();
  const fold = byId("hood-fold");
  fold.addEventListener("toggle", () => { if (fold.open) drawHood(); });
  window.addEventListener("beforeprint", () => {
    for (const part of document.querySelectorAll("details.print-open:not([open])")) { part.dataset.closed = "1"; part.open = true; }
    drawHood();
  });
  window.addEventListener("afterprint", () => {
    for (const part of document.querySelectorAll("details[data-closed]")) { delete part.dataset.closed; part.open = false; }
  });
}
