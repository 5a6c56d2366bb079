// Draws each figure from the JSON beside it, by linePlot; the tables need nothing of this.
const page = document.documentElement;
const dark = matchMedia("(prefers-color-scheme: dark)");
const narrow = matchMedia("(max-width: 600px)");
const charts = [];
const boundDashes = [[6, 3], [2, 3], [9, 3, 2, 3], [1, 3]];
const end = (values) => values[values.length - 1];

// The names of upper bounds at the ends of their lines; those of the same end share one.
function nameBounds({ ctx, bbox, valToPos }, rounds, bounds) {
  const near = (one, other) => Math.abs(end(one.values) - end(other.values)) <= 0.01 * end(one.values);
  ctx.save();
  ctx.fillStyle = css("--soft");
  ctx.font = `${12 * devicePixelRatio}px system-ui, sans-serif`;
  ctx.textAlign = "right";
  bounds.forEach((bound, i) => {
    if (bound.hidden || bounds.findIndex((one) => near(one, bound)) < i) return;
    const [x, y] = [valToPos(end(rounds), "x", true), valToPos(end(bound.values), "y", true)];
    if (x > bbox.left + bbox.width || y < bbox.top || y > bbox.top + bbox.height) return;
    ctx.fillText(bounds.filter((one) => near(one, bound)).map((one) => one.name).join(", "), x, y - 5 * devicePixelRatio);
  });
  ctx.restore();
}

// Show the values at a round beside the pointer; where there is no room, those of the nearest line.
function read(reading, chart, rounds, index, lines, digits) {
  reading.hidden = index === null;
  if (reading.hidden) return;
  let rows = lines.filter((line) => !line.hidden && line.values[index] !== null);
  if (narrow.matches) {
    const far = (line) => Math.abs(chart.valToPos(line.values[index], "y") - chart.cursor.top);
    rows = [...rows].sort((one, other) => far(one) - far(other)).slice(0, 1);
  }
  const cell = (text) => Object.assign(document.createElement("td"), { textContent: text });
  const table = document.createElement("table");
  rows.forEach((line) => {
    const row = table.insertRow();
    const number = (value) => value.toFixed(digits);
    row.append(cell("\u25cf"), cell(line.name), cell(number(line.values[index])));
    row.firstChild.style.color = css(line.colour);
    if (line.band) row.append(cell(`[${line.band.map((values) => number(values[index])).join(", ")}]`));
  });
  reading.replaceChildren(`round ${rounds[index]}`, table);
  const left = chart.valToPos(rounds[index], "x");
  const width = chart.over.clientWidth;
  const side = left > width / 2 ? left - reading.offsetWidth - 12 : left + 12;
  reading.style.left = `${Math.min(Math.max(0, side), Math.max(0, width - reading.offsetWidth))}px`;
}

function setUp(figure) {
  const data = JSON.parse(figure.querySelector('script[type="application/json"]').textContent);
  const target = figure.querySelector(".plot");
  const buttons = [...figure.querySelectorAll(".legend button")];
  const radios = (name) => [...figure.querySelectorAll(`input[name$="--${name}"]`)];
  const ranges = radios("range");
  const every = data.policies.length;
  const usual = Number(ranges.find((input) => input.defaultChecked)?.value ?? every);
  let kind = "interval";
  let count = usual; // how many of the best policies the range is for
  const policies = data.policies.map(({ name, colour, dash, mean, [kind]: band }) => ({
    name, band, values: mean, colour: `--policy-${colour}`, width: data.width, dash: dash ? dash.split(",").map(Number) : undefined,
  }));
  // thin, in the colour of small print, and below the policies
  const bounds = data.bounds.map(({ name, values }, i) => ({
    name, values, colour: "--soft", width: 1.2, dash: boundDashes[i % boundDashes.length], hidden: true,
  }));
  const lines = [...policies, ...bounds];

  // The range of the lines that are shown; of the best policies and their bands, if not of all.
  function limits() {
    const chosen = count < every ? policies.slice(0, count) : lines.filter((line) => !line.hidden);
    const values = chosen.flatMap((line) => [line.values, ...(line.band ?? [])]).flat();
    const [bottom, top] = values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [0, 0]);
    return { x: [0, 1.01 * end(data.rounds)], y: [bottom, top > bottom ? top + 0.05 * (top - bottom) : 1] };
  }

  const reading = document.createElement("output");
  reading.className = "reading";
  const plot = linePlot(target, {
    x: data.rounds,
    lines,
    limits,
    height: () => (narrow.matches ? 320 : 440),
    label: target.dataset.about,
    titles: ["round", "mean cumulative regret"],
    onMove: (index) => read(reading, plot.chart, data.rounds, index, lines, data.digits),
    onDraw: (chart) => nameBounds(chart, data.rounds, bounds),
  });
  plot.chart.over.append(reading);
  charts.push(plot);

  const draw = () => {
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(!policies[i].hidden)));
    ranges.forEach((input) => (input.checked = Number(input.value) === count));
    figure.querySelectorAll(".cut-off").forEach((note) => {
      note.hidden = Number(note.dataset.count) !== count;
    });
    plot.update();
  };
  const choose = (chosen) => {
    count = chosen;
    draw();
    plot.show(null); // another range or other lines: zooms are undone
  };
  buttons.forEach((button, i) => {
    button.addEventListener("click", (event) => {
      if (event.detail > 1) return; // the rest of a double click
      policies[i].hidden = !policies[i].hidden;
      draw();
    });
    button.addEventListener("dblclick", () => {
      const alone = policies.every((line, j) => j === i || line.hidden);
      policies.forEach((line, j) => (line.hidden = !alone && j !== i));
      draw();
    });
  });
  ranges.forEach((input) => input.addEventListener("change", () => choose(Number(input.value))));
  radios("band").forEach((input) => {
    input.checked = input.value === kind; // not what the browser remembers of the last visit
    input.addEventListener("change", () => {
      kind = input.value;
      policies.forEach((line, i) => (line.band = data.policies[i][kind]));
      draw();
    });
  });
  const box = figure.querySelector('input[name$="--bounds"]');
  if (box) {
    box.checked = false;
    box.addEventListener("change", () => {
      bounds.forEach((line) => (line.hidden = !box.checked));
      choose(box.checked ? every : usual); // bounds are far above
    });
  }
  draw();
}

function addCopyButton(command) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(command.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(command); // ready for the keyboard's copy
      button.textContent = "Selected";
    }
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
  command.after(button);
}

function print(on) {
  page.classList.toggle("printing", on);
  document.querySelectorAll("details").forEach((details) => {
    if (on) details.dataset.before = String(details.open);
    details.open = on || details.dataset.before === "true";
  });
  charts.forEach((plot) => (plot.resize(), plot.redraw()));
}

document.querySelectorAll("figure.curves").forEach(setUp);
document.querySelectorAll("pre.command").forEach(addCopyButton);
dark.addEventListener("change", () => charts.forEach((plot) => plot.redraw()));
narrow.addEventListener("change", () => charts.forEach((plot) => plot.resize()));
addEventListener("beforeprint", () => print(true));
addEventListener("afterprint", () => print(false));
