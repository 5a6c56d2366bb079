// The first view of an agent: graph, last decision, live list.

import { html, useEffect, useRef, useState } from "../vendor/htm-preact-standalone.js";
import { Card, Loading, Name, Problem, Time } from "../components.js";
import { count } from "../format.js";
import { useThrottled } from "../hooks.js";
import { GraphView } from "../graph/graph-view.js";
import { agentAddress, replaceAddress } from "../router.js";
import { StatusWord, Why, useDecision } from "./decision.js";
import { Stream } from "./stream.js";

/** Milliseconds between two explanations while decisions come. */
const FOLLOW = 4000;

export function OverviewTab({ name, route, who, feed, tick, changed }) {
  const [picked, setPicked] = useState(null);
  const latest = useThrottled(feed.latest?.decision ?? null, FOLLOW);
  const field = useRef(null);
  const choose = (arm) => replaceAddress(agentAddress(name, "overview", null, arm));
  useEffect(() => {
    const slash = (event) => {
      const typing = /^(input|textarea|select)$/i.test(event.target.tagName);
      if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      field.current?.focus();
    };
    addEventListener("keydown", slash);
    return () => removeEventListener("keydown", slash);
  }, []);
  return html`<div class="overview">
    <${GraphView} key=${name} name=${name} tick=${tick} who=${who} arm=${route.arm} choose=${choose} changed=${changed} fieldRef=${field} />
    <div class="overview-side">
      <${LastDecision} name=${name} id=${picked ?? latest} picked=${picked} follow=${() => setPicked(null)} tick=${picked ? tick : 0} />
      <${Stream} feed=${feed} picked=${picked} pick=${setPicked} />
    </div>
  </div>`;
}

function LastDecision({ name, id, picked, follow, tick }) {
  const { data, problem, again } = useDecision(name, id, tick);
  const tools = picked && html`<button type="button" onClick=${follow}>Follow the latest</button>`;
  const title = data ? html`Why <${Name} of=${data.decision.arm} />?` : picked ? "Decision" : "Last decision";
  return html`<${Card} title=${title} className="why-card" tools=${tools}>
    ${id === null && html`<p class="quiet">The explanation of the last decision appears here.</p>`}
    ${id !== null && !data && !problem && html`<${Loading} what="the explanation" />`}
    <${Problem} error=${problem} again=${again} />
    ${data && html`<p class="quiet facts">${picked ? "Decision" : "Last decision:"} ${count(data.decision.number)}, <${Time} iso=${data.decision.time} /> <${StatusWord} status=${data.decision.status} /> <a href=${agentAddress(name, "decisions", data.decision.id)}>Details</a></p>
      <${Why} answer=${data} height=${165} />`}
  <//>`;
}
