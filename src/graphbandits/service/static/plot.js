// Line charts of the dashboard and of reports, by uPlot: bands, hover by pointer or arrow keys, zoom by range.

const WHOLE = [...Array(10).keys()].flatMap((power) => [1, 2, 5].map((digit) => digit * 10 ** power));
const FONT = "12px system-ui, sans-serif";

/** The value of a CSS variable of the page. */
export function css(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/**
 * Draw lines over whole numbers `x` in an empty element, and return the chart.
 *
 * A line has `values` (null: a gap), `colour` (a CSS variable) and optionally `band` ([low, high]), `dash`, `width` and
 * `hidden`; the first line is on top. The caller may change `values`, `band` and `hidden`, and then calls `update`. `limits`
 * returns the ranges of both axes without a zoom, `text` a label of the vertical axis. `onMove` gets the index that is
 * pointed at, or null; `onDraw` is called after each drawing.
 */
export function linePlot(target, { x, lines, limits, height, label, titles = [], text = String, onMove = () => {}, onDraw = () => {} }) {
  let zoom = null;
  let at = null;
  let last = null; // the index that was pointed at last
  const banded = lines.filter((line) => line.band);
  const drawn = [...banded.flatMap((line) => [line, line]), ...lines.toReversed()];
  const columns = () => [x, ...banded.flatMap((line) => line.band), ...lines.toReversed().map((line) => line.values)];
  const isEdge = (series) => series <= 2 * banded.length;
  const isKnown = (index) => lines.some((line) => !line.hidden && (line.values[index] ?? null) !== null);
  const alone = ({ values }) => [...values.keys()].filter((i) => [-1, 0, 1].every((step) => ((values[i + step] ?? null) !== null) === (step === 0)));
  const axis = { font: FONT, labelFont: FONT, labelSize: 18, stroke: () => css("--soft"), ticks: { show: false }, grid: { stroke: () => css("--rule"), width: 1 } };

  const [tools, box] = [document.createElement("div"), document.createElement("div")];
  tools.className = "plot-tools";
  box.className = "plot-box";
  box.tabIndex = 0;
  box.setAttribute("role", "img");
  box.setAttribute("aria-label", label);
  target.replaceChildren(box, tools);
  const buttons = [["+", "Zoom in", 0.5], ["−", "Zoom out", 2]].map(([sign, title, factor]) => {
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: sign, title, ariaLabel: title });
    button.addEventListener("click", () => scale(factor));
    tools.append(button);
    return button;
  });

  const size = () => ({ width: Math.max(1, target.clientWidth), height: height() });
  const chart = new uPlot({
    ...size(),
    padding: [10, 16, 0, 0],
    legend: { show: false },
    scales: { x: { time: false, range: () => zoom?.x ?? limits().x }, y: { range: () => zoom?.y ?? limits().y } },
    axes: [
      { ...axis, grid: { show: false }, label: titles[0], size: 26, space: 70, incrs: WHOLE, values: (_, at) => at.map((value) => value.toLocaleString("en")) },
      { ...axis, label: titles[1], space: 36, values: (_, at) => at.map(text), size: (_, labels) => 14 + 7 * Math.max(2, ...(labels ?? []).map((one) => one.length)) },
    ],
    series: [
      {},
      ...drawn.map((line, i) => isEdge(i + 1) ? { width: 0, points: { show: false } } : {
        width: line.width ?? 2,
        dash: line.dash,
        stroke: () => css(line.colour),
        points: { size: 5, fill: () => css(line.colour), filter: () => alone(line) },
      }),
    ],
    bands: banded.map((line, i) => ({ series: [2 * i + 2, 2 * i + 1], fill: () => `${css(line.colour)}2e` })),
    cursor: {
      y: false,
      dataIdx: (_, series, index) => (series && isEdge(series) ? null : index),
      points: { size: 7, width: 0, fill: (_, series) => css(drawn[series - 1].colour) },
      drag: { x: true, y: true, uni: 30, dist: 5, setScale: false },
      bind: { dblclick: () => () => show(null) },
    },
    hooks: {
      setCursor: [({ cursor }) => move(cursor.left < 0 ? null : cursor.idx)],
      setSelect: [select],
      draw: [onDraw],
    },
  }, columns(), box);

  function move(index) {
    let near = null; // the nearest index with a value
    for (let far = 0; index !== null && near === null && far < x.length; far++) near = [index - far, index + far].find(isKnown) ?? null;
    last = near ?? last;
    if (near !== at) onMove((at = near));
  }

  function select({ select: { left, top, width, height } }) {
    const span = (axis, from, to) => [chart.posToVal(from, axis), chart.posToVal(to, axis)];
    chart.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    if (width && height) {
      show({
        x: width < chart.over.clientWidth ? span("x", left, left + width) : zoom?.x,
        y: height < chart.over.clientHeight ? span("y", top + height, top) : zoom?.y,
      });
    }
  }

  /** Show a range, or everything. */
  function show(range) {
    zoom = range;
    buttons[1].disabled = !zoom;
    update();
  }

  /** Zoom horizontally, around the value that was pointed at last. */
  function scale(factor) {
    const [first, end] = limits().x;
    const { min, max } = chart.scales.x;
    const width = (max - min) * factor;
    const left = Math.min(Math.max(first, (x[last] ?? (min + max) / 2) - width / 2), end - width);
    show(width < end - first ? { x: [left, left + width], y: zoom?.y } : null);
  }

  function update(changed = x) {
    x = changed;
    drawn.forEach((line, i) => {
      if (chart.series[i + 1].show === Boolean(line.hidden)) chart.setSeries(i + 1, { show: !line.hidden });
    });
    chart.setData(columns());
  }

  function point(index) {
    chart.setCursor(index === null ? { left: -10, top: -10 } : { left: chart.valToPos(x[index], "x"), top: 0 });
  }

  box.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity, Escape: 0 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const known = [...x.keys()].filter((i) => x[i] >= chart.scales.x.min && x[i] <= chart.scales.x.max && isKnown(i));
    const here = known.indexOf(at ?? (step < 0 ? known.at(-1) : known[0]));
    point(step ? known[Math.min(known.length - 1, Math.max(0, here + step))] ?? null : null);
  });
  box.addEventListener("blur", () => point(null));

  const resize = () => chart.setSize(size());
  const observer = new ResizeObserver(resize);
  observer.observe(target);
  show(null);
  target.plot = chart;
  return {
    chart, box, show, update, resize,
    /** Draw with the present colours of the page. */
    redraw: () => chart.redraw(false, true),
    close: () => (observer.disconnect(), chart.destroy()),
  };
}
