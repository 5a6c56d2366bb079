// The live list of decisions and outcomes, and the state of the connection.

import { html, useRef, useState } from "../vendor/htm-preact-standalone.js";
import { Announcer, Card, Empty, Name, Time, rowKeys, sentence } from "../components.js";
import { count, num, plural, shown } from "../format.js";
import { useFeed, useNow } from "../hooks.js";

const KINDS = new Map([
  ["decide", "Decision"], ["observe", "Outcome"], ["close", "Closed"], ["learn", "Learned"], ["create", "Created"], ["pause", "Paused"],
  ["resume", "Resumed"], ["retire", "Retired"], ["add_arm", "New arm"], ["set_graph", "New graph"], ["set_policy", "New policy"], ["reset", "Reset"],
]);
const OUTCOMES = 3;

/** The state of the connection in words. */
export function Connection({ feed }) {
  useFeed(feed);
  const { kind, until, problem } = feed.connection;
  const now = useNow(1000);
  const seconds = Math.max(0, Math.ceil((until - now) / 1000));
  const words = { connecting: "Connecting …", live: "Live", hidden: "Paused in the background", stopped: "Stopped", waiting: `Not connected, next attempt ${seconds ? `in ${seconds} s` : "now"}` }[kind];
  return html`<div class=${`connection ${kind}`} title=${problem ? sentence(problem.message) : undefined}>
    <i aria-hidden="true"></i><span role=${kind === "waiting" ? undefined : "status"}>${words}</span>
    ${kind === "waiting" && html`<button type="button" class="link" onClick=${() => feed.retry()}>Connect now</button>`}
    ${kind === "waiting" && html`<span class="spoken" role="status">The live connection was lost.</span>`}
  </div>`;
}

function rewards(outcomes) {
  const all = Object.entries(outcomes ?? {});
  const few = all.slice(0, OUTCOMES);
  return html`${few.map(([arm, reward], i) => html`${i ? ", " : ""}<${Name} of=${arm} /> ${Array.isArray(reward) ? `${num(reward[0])} in ${count(reward[1])}` : num(reward)}`)}
    ${all.length > OUTCOMES ? `, ${all.length - OUTCOMES} more` : ""}${all.length === 0 ? "no outcome" : ""}`;
}

/** What an entry is, in a word and in a few more. */
export function entryText(entry) {
  const late = entry.late === true;
  const expired = entry.reason === "expired";
  const kind = late ? "Late" : expired ? "Expired" : (KINDS.get(entry.kind) ?? sentence(shown(entry.kind).replaceAll("_", " ")).slice(0, -1));
  const tone = late || expired ? "late" : entry.kind === "decide" ? "decide" : entry.kind === "observe" ? "observe" : "other";
  let text = "";
  if (entry.kind === "decide") text = html`<${Name} of=${entry.arm} />${entry.probability === null || entry.probability === undefined ? "" : html` <span class="quiet">p ${num(entry.probability)}</span>`}`;
  else if (entry.kind === "observe" || (entry.kind === "close" && Object.keys(entry.outcomes ?? {}).length)) text = html`${rewards(entry.outcomes)}${entry.kind === "observe" && entry.closes === false ? html` <span class="quiet">partial</span>` : ""}`;
  else if (entry.kind === "close") text = entry.reason ? shown(entry.reason) : "no more outcomes";
  else if (entry.arms) text = html`${entry.arms.slice(0, OUTCOMES).map((arm, i) => html`${i ? ", " : ""}<${Name} of=${arm} />`)}${entry.arms.length > OUTCOMES ? `, ${entry.arms.length - OUTCOMES} more` : ""}`;
  else if (entry.arm !== undefined) text = html`<${Name} of=${entry.arm} />`;
  else if (entry.policy) text = html`<code>${shown(entry.policy)}</code>`;
  else if (entry.key) text = shown(entry.key);
  return { kind, tone, text };
}

function Row({ entry, picked, pick }) {
  const { kind, tone, text } = entryText(entry);
  const inner = html`<${Time} iso=${entry.time} /><span class=${`kind ${tone}`}>${kind}</span><span class="what">${text}</span>`;
  if (!entry.decision) return html`<li><div class="entry" data-row tabindex="-1">${inner}</div></li>`;
  const chosen = entry.decision === picked;
  return html`<li><button type="button" data-row class=${`entry ${chosen ? "chosen" : ""}`} aria-pressed=${chosen} title="Explain this decision" onClick=${() => pick(entry.decision)}>${inner}</button></li>`;
}

export function Stream({ feed, picked, pick }) {
  useFeed(feed);
  const [held, setHeld] = useState(null);
  const [kind, setKind] = useState("all");
  const list = useRef(null);
  const source = held ? held.entries : feed.entries;
  const entries = kind === "all" ? source : source.filter((one) => (kind === "decide") === (one.kind === "decide"));
  const fresh = held ? feed.ticks - held.ticks : 0;
  const hold = () => setHeld(held ? null : { entries: feed.entries, ticks: feed.ticks });
  const tools = html`
    <label class="inline"><span class="spoken">Entries</span><select value=${kind} onChange=${(event) => setKind(event.target.value)}>
      <option value="all" selected=${kind === "all"}>all entries</option><option value="decide" selected=${kind === "decide"}>decisions</option><option value="other" selected=${kind === "other"}>outcomes and others</option></select></label>
    <button type="button" aria-pressed=${held !== null} onClick=${hold}>${held ? `Continue${fresh ? ` (${count(fresh)} new)` : ""}` : "Hold"}</button>`;
  const newest = feed.latest;
  return html`<${Card} title="Live entries" className="stream-card" tools=${tools}>
    ${feed.loaded && entries.length === 0 && html`<${Empty} title=${source.length ? "No entry of this kind." : "No decisions yet."}>
      ${source.length === 0 && html`<p class="quiet">They appear here when a program asks for one with <code>POST /agents/…/decisions</code>.</p>`}<//>`}
    <ol ref=${list} class="stream" onKeyDown=${rowKeys} aria-label="Newest entries first">
      ${entries.map((entry) => html`<${Row} key=${entry.number} entry=${entry} picked=${picked} pick=${pick} />`)}
    </ol>
    <${Announcer} text=${feed.ticks && newest && !held ? `${feed.status ? `${plural(feed.status.decisions, "decision")} so far. ` : ""}The last one is ${shown(newest.arm)}.` : ""} />
  <//>`;
}
