// Under the hood: the spectrum and the passes.

function spectrumChart() {
  const { values, floor, k } = data.spectrum;
  const rows = values
    .map((value, i) => ({ number: i + 1, value, size: Math.abs(value), kept: i < k }))
    .filter((row) => row.size > 0);
  const width = Math.max(byId("spectrum").clientWidth || 600, 240);
  const slim = width < 560;
  const shared = {
    x: "number",
    y: "size",
    title: (row) => `${row.number}: ${row.value.toPrecision(3)}${row.kept ? ", a topic" : ""}`,
    tip: { fill: colour("card"), stroke: colour("line") },
  };
  const marks = [
    Plot.dot(
      rows.filter((row) => row.value > 0),
      {
        ...shared,
        r: 3.2,
        fill: (row) => colour(row.kept ? "accent" : "card"),
        stroke: (row) => colour(row.kept ? "accent" : "quiet"),
      },
    ),
    Plot.dot(
      rows.filter((row) => row.value < 0),
      { ...shared, r: 2.6, symbol: "times", stroke: colour("quiet") },
    ),
  ];
  if (rows.length > k) {
    marks.push(
      Plot.ruleX([k + 0.5], { stroke: colour("accent"), strokeDasharray: "4,3" }),
      Plot.text([k + 0.5], {
        x: (d) => d,
        frameAnchor: "top",
        text: () => plural(k, "topic"),
        dx: 6,
        dy: 4,
        textAnchor: "start",
        fill: colour("accent"),
        fontWeight: 600,
      }),
    );
  }
  if (floor > 0) {
    marks.push(
      Plot.ruleY([floor], { stroke: colour("b"), strokeWidth: 1.5 }),
      Plot.text([floor], {
        y: (d) => d,
        frameAnchor: "left",
        text: () => "noise floor",
        dx: 6,
        dy: 10,
        textAnchor: "start",
        fill: colour("b"),
        fontWeight: 600,
      }),
    );
  }
  return picture({
    width,
    height: slim ? 240 : 300,
    marginLeft: 56,
    marginBottom: 40,
    style: { fontSize: "12.5px", background: "transparent" },
    ariaLabel: `Spectrum of ${plural(values.length, "value")}; the first ${k} became topics`,
    x: { label: "direction", tickFormat: (d) => (Number.isInteger(d) ? String(d) : ""), ticks: slim ? 5 : 10 },
    y: {
      label: "strength",
      type: "log",
      grid: true,
      ticks: 5,
      tickFormat: (d) => d.toPrecision(1).replace(/\.?0+e/, "e"),
    },
    marks,
  });
}

function spectrumNote() {
  const negative = data.spectrum.values.some((value) => value < 0);
  return negative
    ? h("p", { class: "hint" }, "A cross is a negative value, drawn by its size: only noise is negative.")
    : "";
}

function spectrumTable() {
  const { values, k } = data.spectrum;
  const strength = (value) => (Number.isFinite(value) ? value.toPrecision(4) : "–");
  const rows = values.map((value, i) => row(String(i + 1), number(strength(value)), h("td", {}, i < k ? "yes" : "no")));
  return fold(
    "The spectrum as a table",
    "",
    scrolled(table({}, ["Direction", ["Strength", NUMBER], "Became a topic"], rows)),
  );
}

function passTable() {
  const most = Math.max(...data.passes.map((pass) => pass.seconds || 0));
  return table(
    { class: "bars" },
    ["Pass", ["Seconds", WITH_BAR], ["Documents", NUMBER]],
    data.passes.map(({ name, seconds, documents }) =>
      row(bdi(name ?? "–"), barCell(seconds || 0, most), number(fixed(seconds, 1)), number(count(documents))),
    ),
  );
}

function drawHood() {
  if (byId("spectrum")) byId("spectrum").replaceChildren(spectrumChart(), spectrumNote(), spectrumTable());
  if (byId("passes")) byId("passes").replaceChildren(passTable());
}

function startHood() {
  const part = byId("hood-fold");
  part.addEventListener("toggle", () => {
    if (part.open) drawHood();
  });
}
