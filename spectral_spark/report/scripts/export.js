// Tables as files: what a table shows, and everything behind the page, as CSV.

// A spreadsheet would run text that starts with one of these; an apostrophe makes it text again.
const FORMULA = /^[=+\-@\t\r]/;
function csvCell(value) {
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : "";
  const text = String(value ?? "");
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
const csvText = (rows) => rows.map((row) => row.map(csvCell).join(",")).join("\r\n") + "\r\n";

function saveCsv(name, rows) {
  const address = URL.createObjectURL(new Blob(["\ufeff", csvText(rows)], { type: "text/csv" }));
  h("a", { href: address, download: `${name}.csv` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
  announce(`${name}.csv saved`);
}

// A cell shows a rounded number and carries the exact one.
function cellValue(cell) {
  if (cell.dataset.value !== undefined) return Number(cell.dataset.value);
  return cell.textContent.trim();
}
const cellsOf = (line) => [...line.cells].filter((cell) => !cell.classList.contains("bar-cell"));
function rowsOf(element) {
  const lines = [...(element.tHead?.rows ?? []), ...element.tBodies[0].rows];
  return lines.map((line) => cellsOf(line).map(cellValue));
}

function exportRow(element) {
  const name = element.id || element.closest("section")?.id || "table";
  const shown = (cell) => !(narrow() && cell.classList.contains("wide-only")); // a hidden column would leave a gap
  const columns = Math.max(...[...element.rows].map((line) => [...line.cells].filter(shown).length), 1);
  const save = link("Save as CSV", () => saveCsv(name, rowsOf(element)));
  return h("tfoot", { class: "screen-only" }, h("tr", {}, h("td", { colspan: columns, class: "export" }, save)));
}
