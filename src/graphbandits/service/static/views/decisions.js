// All decisions, newest first, and one of them in detail.

import { html, useEffect, useState } from "../vendor/htm-preact-standalone.js";
import { get, path, withQuery } from "../api.js";
import { Card, Empty, Loading, Name, Problem, Time, rowKeys } from "../components.js";
import { count, num } from "../format.js";
import { useLoad, useSettled } from "../hooks.js";
import { agentAddress, replaceAddress } from "../router.js";
import { DecisionView, StatusWord } from "./decision.js";

const PAGE = 50;

/** A list of decisions whose first page is loaded again, and whose older pages are added on request. */
export function useDecisions(name, open, tick) {
  const address = withQuery(path("agents", name, "decisions"), [["open", open], ["limit", PAGE]]);
  const { data, problem, again } = useLoad(address, { tick, gap: 2000 });
  const [older, setOlder] = useState({ address, list: [], more: null, problem: null, busy: false });
  const mine = older.address === address ? older : { list: [], more: null, problem: null, busy: false };
  const first = data?.decisions ?? [];
  // decisions of the first page move down as new ones come; those between the pages are kept
  useEffect(() => {
    if (!first.length || mine.more === null) return;
    setOlder((old) => (old.address === address ? { ...old, list: merged(first, old.list) } : old));
  }, [data]);
  const all = merged(first, mine.list);
  const load = async () => {
    setOlder({ ...mine, address, busy: true, problem: null });
    try {
      const next = await get(withQuery(path("agents", name, "decisions"), [["open", open], ["limit", PAGE], ["before", all.at(-1).number]]));
      setOlder((old) => ({ address, list: merged(merged(first, old.list), next.decisions), more: next.more, problem: null, busy: false }));
    } catch (error) {
      setOlder((old) => ({ ...old, busy: false, problem: error }));
    }
  };
  return { all, loaded: data !== null, problem, again, more: mine.more ?? data?.more ?? false, load, busy: mine.busy, olderProblem: mine.problem };
}

function merged(newer, older) {
  const known = new Map(older.map((one) => [one.number, one]));
  for (const one of newer) known.set(one.number, one);
  return [...known.values()].sort((a, b) => b.number - a.number);
}

export function More({ list }) {
  if (!list.more) return null;
  return html`<div class="more"><${Problem} error=${list.olderProblem} />
    <button type="button" aria-busy=${list.busy} onClick=${() => !list.busy && list.load()}>Show older decisions</button></div>`;
}

export function DecisionsTab({ name, route, who, feed, tick, changed }) {
  const [kind, setKind] = useState("all");
  const open = kind === "open" ? true : null;
  const list = useDecisions(name, open, tick);
  const chosen = route.item;
  const loadedItem = useSettled(chosen, 120);
  const choose = (id) => replaceAddress(agentAddress(name, "decisions", id));
  const keys = (event) => {
    rowKeys(event);
    const row = document.activeElement?.closest("[data-row]");
    if (event.defaultPrevented && row?.dataset.id && chosen !== null) choose(row.dataset.id);
  };
  const tools = html`<label class="inline"><span class="spoken">Decisions</span><select value=${kind} onChange=${(event) => setKind(event.target.value)}>
    ${["all", "open"].map((one) => html`<option value=${one} selected=${one === kind}>${one}</option>`)}</select></label>`;
  return html`<div class=${`split ${chosen === null ? "" : "has-detail"}`}>
    <${Card} title="Decisions" className="list-card" tools=${tools}>
      <${Problem} error=${list.problem} again=${list.again} />
      ${!list.loaded && !list.problem && html`<${Loading} what="the decisions" />`}
      ${list.loaded && list.all.length === 0 && html`<${Empty} title=${kind === "open" ? "No decision is open." : "No decisions yet."}>
        ${kind !== "open" && html`<p class="quiet">A program asks for one with <code>POST /agents/…/decisions</code>.</p>`}<//>`}
      <ol class="decision-list" onKeyDown=${keys} aria-label="Newest decisions first">
        ${list.all.map((one) => html`<li key=${one.number}><button type="button" data-row data-id=${one.id} class=${`entry ${one.id === chosen ? "chosen" : ""}`}
          aria-pressed=${one.id === chosen} onClick=${() => choose(one.id)}>
          <span class="quiet no">${count(one.number)}</span><span class="what"><${Name} of=${one.arm} />${one.probability === null ? "" : html` <span class="quiet">p ${num(one.probability)}</span>`}</span>
          <${StatusWord} status=${one.status} /><${Time} iso=${one.time} /></button></li>`)}
      </ol>
      <${More} list=${list} />
    <//>
    <div class="detail">
      ${chosen === null
        ? html`<${Empty} title="Choose a decision."><p class="quiet">Its explanation, its frontier and its outcomes appear here.</p><//>`
        : html`<p class="back"><a href=${agentAddress(name, "decisions")}>All decisions</a></p>
          <div class="card padded"><${DecisionView} key=${loadedItem ?? chosen} name=${name} id=${loadedItem ?? chosen} tick=${tick} who=${who} changed=${changed} /></div>`}
    </div>
  </div>`;
}
