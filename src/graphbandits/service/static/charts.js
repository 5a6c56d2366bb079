// Charts: a curve over decisions, and the frontier of one decision as SVG.

import { html, useEffect, useMemo, useRef, useState } from "./vendor/htm-preact-standalone.js";
import { Help, Table } from "./components.js";
import { clipped, count, num, shown, ticks, time } from "./format.js";
import { useWidth } from "./hooks.js";
import { linePlot } from "./plot.js";

/** Most labels in a frontier, and most points that are drawn as circles of their own. */
const [LABELS, CIRCLES] = [6, 300];
/** Width of a letter in a label, in pixels. */
const LETTER = 6.3;

/** Keep the ends and every nth index, at most `most`. */
function thinned(length, most) {
  const step = Math.max(1, Math.ceil(length / most));
  return [...Array(length).keys()].filter((i) => i % step === 0 || i === length - 1);
}

/** Room for the labels of the vertical axis. */
function margin(labels) {
  return Math.max(34, 12 + LETTER * Math.max(...labels.map((text) => text.length)));
}

/** A curve over the numbers of decisions. Null values are gaps. */
export function LineChart({ title, help, unit, x, y, times, height = 190, tone = "" }) {
  const box = useRef(null);
  const chart = useRef(null);
  const [place, setPlace] = useState(null);
  const known = [...y.keys()].filter((i) => y[i] !== null);
  const current = useRef({});
  current.current = { x, y };
  const isEmpty = known.length === 0;
  const index = place ?? known.at(-1);
  const readout = isEmpty ? "" : `decision ${count(x[index])}: ${num(y[index])}${unit ? ` ${unit}` : ""}`;
  const label = `${title}: curve from decision ${x[0]} to ${x.at(-1)}. ${readout}. The arrow keys move along it.`;
  useEffect(() => {
    if (isEmpty) return undefined;
    const line = { values: y, colour: "--curve" };
    const limits = () => {
      const { x, y } = current.current;
      const values = y.filter((value) => value !== null);
      const [low, high] = [Math.min(0, ...values), Math.max(0, ...values) || 1];
      return { x: [x[0], Math.max(x.at(-1), x[0] + 1)], y: [low, high + 0.05 * (high - low)] };
    };
    const made = linePlot(box.current, { x, lines: [line], limits, height: () => height, label, text: num, onMove: setPlace });
    chart.current = { ...made, line };
    addEventListener("themechange", made.redraw);
    return () => {
      removeEventListener("themechange", made.redraw);
      made.close();
    };
  }, [isEmpty]);
  useEffect(() => {
    if (isEmpty) return;
    chart.current.line.values = y;
    chart.current.update(x);
  }, [x, y]);
  useEffect(() => {
    if (!isEmpty) chart.current.box.setAttribute("aria-label", label);
  }, [label]);
  if (isEmpty) {
    return html`<figure class="chart"><figcaption><h3>${title}</h3></figcaption>
      <p class="quiet">No decision has this number yet.</p></figure>`;
  }
  return html`<figure class=${`chart ${tone}`}>
    <figcaption><h3><${Help} text=${help}>${title}<//></h3>
      <output aria-live=${place === null ? "off" : "polite"} title=${times?.[index]}>${readout}</output></figcaption>
    <div class="plot" ref=${box}></div>
    <details><summary>Show as a table</summary>
      <${Table} caption=${`${title} by decision`} head=${[{ label: "decision", number: true }, { label: "time" }, { label: title, number: true }]}
        rows=${thinned(known.length, 50).map((k) => known[k]).map((i) => ({ key: i, cells: [count(x[i]), times ? time(times[i]) : "", num(y[i])] }))} />
    </details>
  </figure>`;
}

/** Arms with a probability that is not only that of the exploration floor. */
function beyondExploration({ arms, pi, exploration }) {
  return pi ? arms.map((_, i) => i).filter((i) => pi[i] > (exploration?.[i] ?? 0) * (1 + 1e-9)) : [];
}

/** The arms to label: the played one, the most probable ones, the ends of the hull, the others of the hull. */
function labelled(points) {
  const { pi, hull, played } = points;
  const drawn = beyondExploration(points).sort((a, b) => pi[b] - pi[a]);
  const order = [played, ...drawn.slice(0, 2), hull.at(-1), hull[0], ...drawn.slice(2, LABELS), ...hull];
  return [...new Set(order)].filter((i) => i !== undefined).slice(0, LABELS);
}

/** Boxes for labels beside their points; a label without room is left out, except the first two. */
function labelPlaces(labels, frame, circles) {
  const taken = [];
  const clear = (box) => taken.every((one) => box.x + box.w < one.x || one.x + one.w < box.x || box.y + box.h < one.y || one.y + one.h < box.y);
  const hits = (box) => circles.filter((c) => c.x > box.x - c.r && c.x < box.x + box.w + c.r && c.y > box.y - c.r && c.y < box.y + box.h + c.r).length;
  const found = [];
  labels.forEach(({ text, x, y, r, key }, rank) => {
    const [w, h] = [LETTER * [...text].length + 4, 14];
    const spots = [
      { x: x + r + 3, y: y - h / 2 }, { x: x - r - 3 - w, y: y - h / 2 },
      { x: x - w / 2, y: y - r - 3 - h }, { x: x - w / 2, y: y + r + 3 },
      { x: x + r, y: y - r - h }, { x: x + r, y: y + r }, { x: x - r - w, y: y - r - h }, { x: x - r - w, y: y + r },
    ].map((spot) => ({ ...spot, w, h }));
    const inside = spots.filter((box) => box.x >= frame.x && box.y >= frame.y && box.x + w <= frame.x + frame.w && box.y + h <= frame.y + frame.h);
    const free = inside.filter(clear).sort((a, b) => hits(a) - hits(b));
    const box = free[0] ?? (rank < 2 ? inside[0] ?? { ...spots[0], x: Math.min(spots[0].x, frame.x + frame.w - w) } : null);
    if (!box) return;
    taken.push(box);
    found.push({ key, text, x: box.x + 2, y: box.y + 11 });
  });
  return found;
}

/** Small circles along a line, which labels avoid. */
function along(corners) {
  const found = [];
  corners.slice(1).forEach(([x2, y2], k) => {
    const [x1, y1] = corners[k];
    const parts = Math.min(60, Math.ceil(Math.hypot(x2 - x1, y2 - y1) / 8));
    for (let i = 0; i <= parts; i++) found.push({ x: x1 + ((x2 - x1) * i) / parts, y: y1 + ((y2 - y1) * i) / parts, r: 1 });
  });
  return found;
}

/** Expected regret of each arm against its gain, with the frontier. */
export function Frontier({ points, gain, height = 240, compact = false }) {
  const [box, width] = useWidth(420);
  const [place, setPlace] = useState(null);
  const { arms, pi, hull, played } = points;
  const xs = points.gain;
  const ys = points.delta;
  const order = useMemo(() => {
    const first = labelled(points);
    return [...first, ...hull.filter((i) => !first.includes(i)), ...arms.map((_, i) => i).filter((i) => pi && pi[i] > 0 && !first.includes(i) && !hull.includes(i))];
  }, [points]);
  const maxX = xs.reduce((most, value) => Math.max(most, value), 0) || 1;
  const maxY = ys.reduce((most, value) => Math.max(most, value), 0) || 1;
  const rows = ticks(0, maxY * 1.06, 4);
  const columns = ticks(0, maxX * 1.06, Math.max(2, Math.floor(width / 110)));
  const left = margin(rows.map(num));
  const [right, above, below] = [18, 14, 22];
  const toX = (value) => left + (value / (maxX * 1.06)) * (width - left - right);
  const toY = (value) => above + (1 - value / (maxY * 1.06)) * (height - above - below);
  const chance = (i) => (pi ? pi[i] : 0);
  const drawn = beyondExploration(points);
  const marked = new Set(drawn);
  const others = arms.map((_, i) => i).filter((i) => !marked.has(i));
  const radius = (i) => 3 + (marked.has(i) ? 8 * Math.sqrt(chance(i)) : 0);
  const explored = others.some((i) => chance(i) > 0);
  const bubbles = drawn.length <= CIRCLES ? drawn : drawn.toSorted((a, b) => chance(b) - chance(a)).slice(0, CIRCLES);
  const dots = others.map((i) => `M${toX(xs[i]).toFixed(1)},${toY(ys[i]).toFixed(1)}h0`).join("");
  const line = hull.map((i, k) => `${k ? "L" : "M"}${toX(xs[i]).toFixed(1)},${toY(ys[i]).toFixed(1)}`).join("");
  const mixed = drawn.length === 2 ? drawn : null;
  const current = place ?? played;
  const near = arms.length <= 400 ? arms.map((_, i) => i) : [...order];
  const labels = labelPlaces(
    labelled(points).map((i) => ({
      key: i, x: toX(xs[i]), y: toY(ys[i]), r: radius(i) + (i === played ? 4 : 0),
      text: `\u2068${clipped(arms[i], 18)}\u2069${chance(i) > 0 ? ` (${num(chance(i))})` : ""}`,
    })),
    { x: left, y: 0, w: width - left, h: height - below },
    [...near.map((i) => ({ x: toX(xs[i]), y: toY(ys[i]), r: radius(i) })), ...along(hull.map((i) => [toX(xs[i]), toY(ys[i])]))],
  );
  const words = (i) => `${shown(arms[i])}: expected regret ${num(ys[i])}, gain ${num(xs[i])}${pi ? `, probability ${num(pi[i])}` : ""}${i === played ? ", played" : ""}`;
  const brief = (i) => `${clipped(arms[i], 14)}: regret ${num(ys[i])}, gain ${num(xs[i])}`;
  const nearest = (event) => {
    const frame = event.currentTarget.getBoundingClientRect();
    const [x, y] = [event.clientX - frame.left, event.clientY - frame.top];
    let [best, least] = [null, 24 ** 2];
    arms.forEach((_, i) => {
      const far = (toX(xs[i]) - x) ** 2 + (toY(ys[i]) - y) ** 2;
      if (far < least) [best, least] = [i, far];
    });
    setPlace(best);
  };
  const keys = (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1, Home: -Infinity, End: Infinity }[event.key];
    if (event.key === "Escape") setPlace(null);
    if (step === undefined) return;
    event.preventDefault();
    const here = Math.max(0, order.indexOf(current));
    setPlace(order[Math.min(order.length - 1, Math.max(0, here + step))]);
  };
  const listed = order.slice(0, 30);
  return html`<figure class=${`chart frontier ${compact ? "compact" : ""}`} ref=${box}>
    <figcaption><h3><${Help} text="The frontier is the least expected regret for each gain. A policy such as ids-n plays one arm of it, or mixes two neighbours.">Regret against information<//></h3>
      <output aria-live=${place === null ? "off" : "polite"} class="readout">${compact && place === null ? "" : compact ? brief(current) : words(current)}</output></figcaption>
    <svg width=${width} height=${height} viewBox=${`0 0 ${width} ${height}`} tabindex="0" role="img"
      aria-label=${`Expected regret of each arm against its gain. ${words(current)}. The arrow keys step through the most important arms; a table follows.`}
      onPointerMove=${nearest} onPointerLeave=${() => setPlace(null)} onKeyDown=${keys} onBlur=${() => setPlace(null)}>
      ${rows.map((value) => html`<line class="grid" x1=${left} x2=${width - right} y1=${toY(value)} y2=${toY(value)} />
        <text class="tick" x=${left - 8} y=${toY(value) + 4} text-anchor="end">${num(value)}</text>`)}
      ${columns.filter((value) => toX(value) < width - right - 62).map((value) => html`<text class="tick" x=${toX(value)} y=${height - below + 16} text-anchor="middle">${num(value)}</text>`)}
      <text class="axis" x=${width - right} y=${height - below + 16} text-anchor="end">gain →</text>
      <text class="axis" x=${left + 4} y="11">↑ expected regret</text>
      ${mixed && html`<path class="mixture" d=${`M${toX(xs[mixed[0]])},${toY(ys[mixed[0]])}L${toX(xs[mixed[1]])},${toY(ys[mixed[1]])}`} />`}
      <path class="hull" d=${line} />
      <path class=${`others ${others.length > CIRCLES ? "crowd" : ""}`} d=${dots} />
      ${bubbles.map((i) => html`<circle key=${i} class="drawn" cx=${toX(xs[i])} cy=${toY(ys[i])} r=${radius(i)} />`)}
      <circle class="played" cx=${toX(xs[played])} cy=${toY(ys[played])} r=${radius(played) + 3.5} />
      ${place !== null && html`<circle class="picked" cx=${toX(xs[place])} cy=${toY(ys[place])} r=${radius(place) + 6} />`}
      ${labels.map((one) => html`<text key=${one.key} class="label" x=${one.x} y=${one.y}>${one.text}</text>`)}
    </svg>
    <p class="legend">
      ${pi && html`<span><i class="key drawn"></i>${compact ? "drawn" : "could be drawn; area: probability"}</span>`}
      <span><i class="key played"></i>played</span>
      <span><i class="key others"></i>${!pi ? "other arms" : explored ? "exploration only" : compact ? "not drawn" : "probability 0"}</span>
      ${hull.length > 1 && html`<span><i class="key hull"></i>frontier</span>`}
      ${mixed && html`<span><i class="key mixture"></i>${compact ? "mixture" : "mixture of two arms"}</span>`}
    </p>
    ${gain && html`<p class="quiet small">gain: ${gain}.</p>`}
    <details><summary>Show as a table</summary>
      <${Table} caption="Expected regret and gain of the most important arms"
        head=${[{ label: "arm" }, { label: "expected regret", number: true }, { label: "gain", number: true }, { label: "probability", number: true }, { label: "role" }]}
        rows=${listed.map((i) => ({
          key: i,
          cells: [html`<bdi class="name">${shown(arms[i])}</bdi>`, num(ys[i]), num(xs[i]), pi ? num(pi[i]) : "–",
            [i === played && "played", hull.includes(i) && "frontier"].filter(Boolean).join(", ") || "–"],
        }))} />
      ${arms.length > listed.length && html`<p class="quiet small">${count(arms.length - listed.length)} more arms are in the chart only.</p>`}
    </details>
  </figure>`;
}
