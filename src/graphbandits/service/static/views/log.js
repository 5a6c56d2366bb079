// The log of decisions as a file, and the entries of the journal.

import { html, useEffect, useRef, useState } from "../vendor/htm-preact-standalone.js";
import { download, path, withQuery } from "../api.js";
import { Card, Command, Empty, Problem, Table, Time } from "../components.js";
import { bytes, count, shown } from "../format.js";
import { useFeed } from "../hooks.js";
import { entryText } from "./stream.js";

const FORMATS = [
  ["parquet", "Parquet", "smallest, with types; for pandas, polars, DuckDB"],
  ["csv", "CSV", "for spreadsheets and other programs"],
  ["jsonl", "JSON lines", "one JSON object per decision"],
];

/** A name for a file that every system accepts. */
function fileName(name, format) {
  const plain = [...shown(name)].map((letter) => (/[\p{L}\p{N}._-]/u.test(letter) ? letter : "_")).join("").replace(/^[._]+/, "").slice(0, 60);
  return `${plain || "agent"}-log.${format}`;
}

function Download({ name, who }) {
  const [state, setState] = useState({ format: null, size: 0, problem: null, done: null });
  const stop = useRef(null);
  useEffect(() => () => stop.current?.abort(), []);
  const start = async (format) => {
    stop.current = new AbortController();
    setState({ format, size: 0, problem: null, done: null });
    let shownAt = 0;
    const progress = (size) => {
      if (performance.now() - shownAt < 200) return;
      shownAt = performance.now();
      setState((old) => ({ ...old, size }));
    };
    try {
      const file = await download(withQuery(path("agents", name, "log"), [["format", format]]), progress, stop.current.signal);
      const link = document.createElement("a");
      link.href = URL.createObjectURL(file);
      link.download = fileName(name, format);
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
      setState({ format: null, size: 0, problem: null, done: `${link.download}, ${bytes(file.size)}` });
    } catch (problem) {
      const stopped = stop.current.signal.aborted;
      setState({ format: null, size: 0, problem: stopped ? null : problem, done: null });
    }
  };
  return html`<${Card} title="Download the log">
    <div class="under">
      <p>A table of all decisions with their probabilities and outcomes. Other policies can be evaluated on it.</p>
      <ul class="formats">${FORMATS.map(([format, label, what]) => html`<li key=${format}>
        <button type="button" disabled=${state.format !== null} onClick=${() => start(format)}>${label}</button><span class="quiet">${what}</span></li>`)}</ul>
      <div role="status">
        ${state.format && html`<p>Loading the log … ${state.size ? bytes(state.size) : ""}
          <button type="button" class="link" onClick=${() => stop.current.abort()}>Cancel</button></p>`}
        ${state.done && html`<p>Saved as <bdi class="name">${state.done}</bdi>.</p>`}
      </div>
      <${Problem} error=${state.problem} />
      <p class="quiet small">The log of an agent with millions of decisions can have hundreds of megabytes, which the browser keeps until the file is complete. On the machine of the service, this command writes it without a browser:</p>
      <${Command}>graphbandits agent log ${shown(who.store)} --name ${shown(name)} --output log.parquet<//>
    </div>
  <//>`;
}

export function LogTab({ name, who, feed }) {
  useFeed(feed);
  return html`<div class="stack">
    <${Download} name=${name} who=${who} />
    <${Card} title="Journal">
      ${feed.loaded && feed.entries.length === 0 && html`<${Empty} title="The journal has no entries." />`}
      ${feed.entries.length > 0 && html`<${Table} caption="Newest entries of the journal" className="journal"
        head=${[{ label: "Entry", number: false }, { label: "Time" }, { label: "Kind" }, { label: "What" }, { label: "Decision" }]}
        rows=${feed.entries.map((entry) => {
          const { kind, tone, text } = entryText(entry);
          return { key: entry.number, cells: [count(entry.number), html`<${Time} iso=${entry.time} />`, html`<span class=${`kind ${tone}`}>${kind}</span>`, text, entry.decision ? html`<code>${shown(entry.decision)}</code>` : "–"] };
        })} />
        <p class="quiet small under">The newest ${count(feed.entries.length)} entries. The API returns older ones: <code>GET /agents/…/history</code>.</p>`}
    <//>
  </div>`;
}
