// Draw charts, load files into text fields, save texts as files.  Vega-Lite's expressions are interpreted, without eval.
import { expressionInterpreter } from "/static/vendor/vega-interpreter.js";

const dark = matchMedia("(prefers-color-scheme: dark)");

function coloured(text) {
  const style = getComputedStyle(document.documentElement);
  return text.replace(/"@(\w+)"/g, (_, name) => JSON.stringify(style.getPropertyValue("--" + name).trim()));
}

function config() {
  const ink = getComputedStyle(document.documentElement).getPropertyValue("--ink").trim();
  const line = dark.matches ? "#4a4d52" : "#d4d7dc";
  const axis = { labelColor: ink, titleColor: ink, gridColor: line, domainColor: line, tickColor: line, labelFontSize: 12, titleFontSize: 12 };
  return { background: null, font: "system-ui, sans-serif", axis, view: { stroke: null }, legend: { labelColor: ink, titleColor: ink, labelFontSize: 12 } };
}

function draw(place) {
  const spec = JSON.parse(coloured(place.dataset.chart));
  spec.width = Math.max(120, place.clientWidth);
  spec.autosize = { type: "fit-x", contains: "padding" };
  const compiled = vegaLite.compile(spec, { config: config() }).spec;
  const view = new vega.View(vega.parse(compiled, null, { ast: true }), {
    renderer: "svg", container: place, hover: false, expr: expressionInterpreter,
  });
  place.drawn = place.clientWidth;
  view.runAsync().then(() => { place.dataset.drawn = "yes"; place.querySelector("svg")?.setAttribute("aria-hidden", "true"); });
}

const sizes = new ResizeObserver((entries) => {
  for (const { target } of entries) if (target.drawn !== target.clientWidth) draw(target);
});

function drawAll(root) {
  for (const place of root.querySelectorAll("[data-chart]")) { draw(place); sizes.observe(place); }
}

dark.addEventListener("change", () => drawAll(document));
document.addEventListener("htmx:afterSwap", (event) => drawAll(event.target));

function complain(target, text) {
  const note = target.querySelector(":scope > [data-trouble]") ?? document.createElement("p");
  note.className = "bad";
  note.setAttribute("role", "alert");
  note.dataset.trouble = "yes";
  if (note.textContent !== text) note.textContent = text;
  if (!note.isConnected) target.prepend(note);
  note.scrollIntoView({ block: "nearest" });
}

function unreachable(event) {
  complain(event.detail.target, event.detail.requestConfig?.verb === "post"
    ? "The service cannot be reached, so we do not know whether this was done. Try again: sending it twice is safe."
    : "The service cannot be reached. What you see may be out of date.");
}

document.addEventListener("htmx:responseError", (event) => {
  const { xhr, target, requestConfig } = event.detail;
  if (requestConfig?.path === "/leave") target.replaceChildren();
  if (xhr.status === 413) return complain(target, "This is more than one receipt. Nothing was deleted; send only your own.");
  if (xhr.status === 429) return complain(target, "Too many requests from your address; nothing was done. Try again in a moment.");
  let problem;
  try { problem = JSON.parse(xhr.responseText); } catch { return unreachable(event); }  // a proxy's answer, not ours
  complain(target, `${problem.detail.charAt(0).toUpperCase()}${problem.detail.slice(1)} ${problem.remedy}`);
});
for (const lost of ["htmx:sendError", "htmx:timeout"]) document.addEventListener(lost, unreachable);
document.addEventListener("htmx:afterOnLoad", (event) => {
  if (event.detail.successful) event.detail.target.querySelector(":scope > [data-trouble]")?.remove();
});
document.addEventListener("change", async (event) => {
  const into = event.target.dataset?.into;
  if (into && event.target.files[0]) document.getElementById(into).value = (await event.target.files[0].text()).trim();
});
document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (button?.dataset.fill) document.getElementById(button.dataset.fill).value = button.dataset.text;
  if (button?.dataset.save) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([document.getElementById(button.dataset.save).value + "\n"], { type: "text/plain" }));
    link.download = button.dataset.name;
    link.click();
    URL.revokeObjectURL(link.href);
  }
});
drawAll(document);
