// The graph of an agent: canvas, search, legend, the chosen arm, and a table as its text alternative.

import { html, useEffect, useMemo, useRef, useState } from "../vendor/htm-preact-standalone.js";
import { path, withQuery } from "../api.js";
import { Card, Help, Loading, Name, Problem, Table } from "../components.js";
import { count, num, percent, plural, shown } from "../format.js";
import { useId, useLoad } from "../hooks.js";
import { ArmPanel, ArmSearch, Likeliest } from "../views/arm-parts.js";
import { GraphCanvas, GraphData, MOST_EDGES } from "./canvas.js";
import { layout } from "./layout.js";

/** Most arms in one drawing, arms of a large graph, and rows of the table. */
const [LIMIT, LARGE, ROWS] = [3000, 500, 100];
const SCALES = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1];

/** Compute a layout in a worker, or in slices if there is none; `shows(places)` is called several times. */
function startLayout(count_, bonds, shows) {
  let worker = null;
  let stopped = false;
  const slices = () => {
    const steps = layout(count_, bonds);
    const slice = () => {
      if (stopped) return;
      const end = performance.now() + 12;
      let step;
      do step = steps.next();
      while (!step.done && performance.now() < end);
      if (step.value) shows({ ...step.value, done: false });
      if (step.done) shows({ done: true });
      else setTimeout(slice);
    };
    slice();
  };
  try {
    worker = new Worker(new URL("./layout-worker.js", import.meta.url), { type: "module" });
    worker.onmessage = ({ data }) => {
      shows(data);
      if (data.done) worker.terminate();
    };
    worker.onerror = () => {
      worker.terminate();
      slices();
    };
    worker.postMessage({ count: count_, edges: bonds });
  } catch {
    slices();
  }
  return () => {
    stopped = true;
    worker?.terminate();
  };
}

/** A text that changes with the structure of a graph; a loose one with its arms only. */
function signature(data, loose) {
  let sum = 17;
  if (!loose) for (let e = 0; e < data.from.length; e++) sum = (Math.imul(sum, 31) + data.from[e] * 7919 + data.to[e]) | 0;
  return `${data.key}|${loose ? "" : `${data.from.length} ${sum}`}`;
}

export function GraphView({ name, tick, who, arm, choose, changed, fieldRef }) {
  const canvas = useRef(null);
  const drawing = useRef(null);
  const [around, setAround] = useState(arm);
  const [size, setSize] = useState("outcomes");
  const [settling, setSettling] = useState(false);
  const help = useId("graph-help");
  const address = withQuery(path("agents", name, "graph"), [["limit", LIMIT], ["around", around]]);
  const arms = useRef(0);
  const { data: answer, problem, again } = useLoad(address, { tick, gap: arms.current > LARGE ? 10_000 : 2000, family: name });
  const data = useMemo(() => answer && new GraphData(answer), [answer]);
  arms.current = data?.arms.length ?? 0;
  const partial = answer !== null && (answer.total > answer.arms.length || answer.edges_left_out > 0);
  const index = data && arm !== null ? (data.place.get(String(arm)) ?? -1) : -1;
  const most = useMemo(() => {
    const top = (data?.arms ?? []).reduce((high, one) => Math.max(high, one.alpha ?? 0), 0);
    return SCALES.find((one) => one >= top) ?? 1;
  }, [data]);

  const chooser = useRef(null);
  chooser.current = choose;
  useEffect(() => {
    if (!data || drawing.current) return;
    drawing.current = new GraphCanvas(canvas.current, {
      selected: (i) => chooser.current(i === null ? null : drawing.current.data.arms[i].arm),
    });
  }, [data]);
  useEffect(() => () => {
    drawing.current?.destroy();
    drawing.current = null;
  }, []);

  const structure = useMemo(() => data && signature(data, answer.changes || answer.edges_left_out > 0), [data]);
  const waiting = useRef(null);
  const placed = useRef(false);
  useEffect(() => {
    if (data) drawing.current.setData(data, { size, colour: most });
  }, [data, size, most]);
  useEffect(() => {
    if (!data) return undefined;
    setSettling(true);
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    placed.current = false;
    let last = null;
    return startLayout(data.arms.length, data.bonds(), ({ x, y, done }) => {
      if (x) last = { x, y };
      if (x && (done || !still)) drawing.current?.setPlaces(x, y);
      if (!done) return;
      if (!x && last) drawing.current?.setPlaces(last.x, last.y);
      placed.current = true;
      setSettling(false);
      if (waiting.current !== null) {
        const i = drawing.current?.data.place.get(waiting.current) ?? -1;
        waiting.current = null;
        if (i >= 0 && !(drawing.current.isFitted && data.arms.length <= LARGE)) drawing.current.centre(i, { closer: true });
      }
    });
  }, [structure]);

  // an arm that the agent does not have: show the graph without it, and the sentence of the service
  const [unknown, setUnknown] = useState(null);
  useEffect(() => {
    if (around === null || ![404, 422].includes(problem?.status)) return;
    setUnknown({ arm: String(around), problem });
    setAround(null);
  }, [problem]);

  // an arm that is not drawn, or that was chosen in a part of the graph: load the part around it
  useEffect(() => {
    if (!data || arm === null || unknown?.arm === String(arm)) return;
    if ((index < 0 || partial) && String(around) !== String(arm)) {
      waiting.current = String(arm);
      setAround(arm);
    } else if (index >= 0 && !placed.current) waiting.current = String(arm);
    else if (index >= 0 && !drawing.current.isVisible(index)) drawing.current.centre(index);
  }, [arm, index, partial, data === null]);
  useEffect(() => drawing.current?.setChosen(index), [index, data]);

  const find = (found) => {
    choose(found);
    const i = data?.place.get(String(found)) ?? -1;
    if (i >= 0 && !partial) drawing.current.centre(i, { closer: true });
  };
  const tools = html`
    <${ArmSearch} name=${name} choose=${find} fieldRef=${fieldRef} />
    <label class="inline">Size<select value=${size} onChange=${(event) => setSize(event.target.value)}>
      <option value="outcomes" selected=${size === "outcomes"}>observations</option><option value="plays" selected=${size === "plays"}>plays</option></select></label>
    <span class="buttons" role="group" aria-label="Zoom">
      <button type="button" aria-label="Zoom out" title="Zoom out (−)" onClick=${() => drawing.current?.zoomBy(1 / 1.5)}>−</button>
      <button type="button" aria-label="Zoom in" title="Zoom in (+)" onClick=${() => drawing.current?.zoomBy(1.5)}>+</button>
      <button type="button" title="Show the whole graph (0)" onClick=${() => drawing.current?.fit()}>Fit</button>
    </span>`;
  const spoken = index >= 0 ? armWords(data, index) : "";
  return html`<${Card} title="Graph" className="graph-card" tools=${tools}>
    <${Problem} error=${problem} again=${again} />
    ${unknown && unknown.arm === String(arm) && html`<${Problem} error=${unknown.problem} />`}
    <div class="graph-body">
      <div class="graph-space">
        <canvas ref=${canvas} class="graph" tabindex="0" role="application" aria-roledescription="graph" aria-label=${data ? summary(data, answer) : "Graph"} aria-describedby=${help}></canvas>
        <p id=${help} class="spoken">The arrow keys choose the nearest arm in a direction. With Shift they move the graph. Plus and minus zoom, 0 shows everything, Escape ends the choice. A table follows.</p>
        ${!data && !problem && html`<${Loading} what="the graph" />`}
        ${settling && data?.arms.length > 300 && html`<p class="over quiet">Computing the layout …</p>`}
        <p class="over hint quiet"><span class="for-mouse">Click to zoom with the wheel</span><span class="for-touch">Tap to move and zoom with your fingers</span></p>
      </div>
      <aside class="graph-side" aria-label="Arm">
        ${data && index >= 0 && html`<${ArmPanel} key=${`arm ${arm}`} name=${name} data=${data} index=${index} who=${who} choose=${choose} changed=${changed} partial=${partial} />`}
        ${data && index < 0 && html`<${Likeliest} data=${data} choose=${find} />`}
      </aside>
    </div>
    ${data && html`<${Legend} data=${data} answer=${answer} most=${most} size=${size} drawn=${Math.min(MOST_EDGES, data.from.length)} arm=${arm} />
      <${GraphTable} data=${data} choose=${choose} partial=${partial} />`}
    <p class="spoken" role="status" aria-live="polite">${spoken}</p>
  <//>`;
}

function armWords(data, i) {
  const arm = data.arms[i];
  const { reveals, by } = data.neighbours(i);
  const words = [shown(arm.arm), arm.status === "active" ? null : arm.status, arm.alpha === null ? null : `${percent(arm.alpha)} likely the best`,
    plural(arm.plays, "play"), plural(arm.outcomes, "observation"), `reveals ${plural(reveals.length, "other arm")}`,
    data.directed ? `revealed by ${plural(by.length, "other arm")}` : null];
  return `${words.filter(Boolean).join(", ")}.`;
}

function summary(data, answer) {
  const part = answer.total > data.arms.length ? `${count(data.arms.length)} of ${plural(answer.total, "arm")}` : plural(data.arms.length, "arm");
  return `Graph of ${part} with ${plural(data.from.length, data.directed ? "directed edge" : "edge")}`;
}

function Legend({ data, answer, most, size, drawn, arm }) {
  const has = (status) => data.arms.some((one) => one.status === status);
  const light = data.edges.some(([, , p]) => p < 1);
  const notes = [
    answer.total > data.arms.length && `${count(data.arms.length)} of ${plural(answer.total, "arm")} are drawn: those around the chosen arm, the most likely ones and those that were played last. Choose or search for an arm to load the part around it.`,
    drawn < data.from.length && `${count(drawn)} of ${plural(data.from.length, "edge")} are drawn. Choose an arm to see all of its edges.`,
    answer.edges_left_out > 0 && `The graph has too many edges to draw: those of ${arm === null ? "a few arms" : "the chosen arm"} are shown. Choose an arm to see its edges.`,
    answer.changes && "The graph differs from round to round. This is that of the next decision.",
  ].filter(Boolean);
  return html`<div class="legend">
    ${data.arms.some((one) => one.alpha !== null) && html`<span class="scale"><${Help} text="Probability that the arm is the best, computed from the posterior. The scale is that of the square root.">probability of being the best<//>
      <span class="ramp-box"><i class="ramp"></i><span><b>0</b><b>${percent(most / 4)}</b><b>${percent(most)}</b></span></span></span>`}
    <span><i class="key small-dot"></i><i class="key large-dot"></i>${size === "plays" ? "plays" : "observations"}</span>
    ${data.last.length > 0 && html`<span><i class="key last"></i>played last</span>`}
    ${has("paused") && html`<span><i class="key paused"></i>paused</span>`}
    ${has("retired") && html`<span><i class="key retired"></i>retired</span>`}
    ${data.directed && html`<span><i class="key arrow"></i>reveals</span>`}
    ${light && html`<span><i class="key faint"></i>lighter: probability below 1</span>`}
    <span class="quiet">numbers: plays / observations</span>
    ${notes.map((note) => html`<p class="quiet small">${note}</p>`)}
  </div>`;
}

function GraphTable({ data, choose, partial }) {
  const [open, setOpen] = useState(false);
  const rows = () => {
    const alpha = (i) => data.arms[i].alpha ?? 0;
    const order = data.arms.map((_, i) => i).sort((a, b) => alpha(b) - alpha(a) || data.arms[b].outcomes - data.arms[a].outcomes).slice(0, ROWS);
    return order.map((i) => {
      const { reveals } = data.neighbours(i);
      const few = reveals.slice(0, 8).map(({ i: other, p }) => `${shown(data.arms[other].arm)}${p < 1 ? ` (${num(p)})` : ""}`);
      return {
        key: `arm ${data.arms[i].arm}`,
        cells: [
          html`<button type="button" class="link" onClick=${() => choose(data.arms[i].arm)}><${Name} of=${data.arms[i].arm} /></button>`,
          percent(data.arms[i].alpha), count(data.arms[i].plays), count(data.arms[i].outcomes), data.arms[i].status,
          html`<bdi class="name">${few.join(", ") || "–"}${reveals.length > few.length ? ` and ${reveals.length - few.length} more` : ""}</bdi>`,
        ],
      };
    });
  };
  return html`<details class="graph-table" onToggle=${(event) => setOpen(event.currentTarget.open)}>
    <summary>Show the graph as a table</summary>
    ${open && html`<${Table} caption="Arms of the graph and the arms that they reveal"
      head=${[{ label: "Arm" }, { label: "P(best)", number: true, term: "alpha" }, { label: "Plays", number: true, term: "plays" }, { label: "Observations", number: true, term: "observations" }, { label: "Status" }, { label: "Reveals" }]}
      rows=${rows()} />
      ${partial && html`<p class="quiet small under">Only the part of the graph that is drawn.</p>`}
      ${data.arms.length > ROWS && html`<p class="quiet small under">The ${ROWS} arms that are most likely the best. The tab Arms finds all others.</p>`}`}
  </details>`;
}
