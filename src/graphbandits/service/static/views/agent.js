// One agent: its numbers, its tabs and the live connection, which all tabs share.

import { html, useEffect, useMemo, useRef, useState } from "../vendor/htm-preact-standalone.js";
import { path } from "../api.js";
import { Loading, Name, Problem, Stat } from "../components.js";
import { clipped, day, shown } from "../format.js";
import { useFeed, useLoad, useNow, useThrottled } from "../hooks.js";
import { Feed } from "../live.js";
import { TABS, agentAddress } from "../router.js";
import { ArmsTab } from "./arms.js";
import { DecisionsTab } from "./decisions.js";
import { HealthTab } from "./health.js";
import { LogTab } from "./log.js";
import { OutcomesTab } from "./outcomes.js";
import { OverviewTab } from "./overview.js";
import { Connection } from "./stream.js";
import { TrendTab } from "./trend.js";

/** Milliseconds after which the counts are loaded again: decisions expire without an entry. */
const REFRESH = 20_000;
const VIEWS = new Map([
  ["overview", OverviewTab], ["decisions", DecisionsTab], ["arms", ArmsTab], ["trend", TrendTab],
  ["outcomes", OutcomesTab], ["health", HealthTab], ["log", LogTab],
]);

export function AgentView({ route, who }) {
  let address = null;
  let impossible = null;
  try {
    address = path("agents", route.name);
  } catch (error) {
    impossible = error;
  }
  const feed = useMemo(() => (impossible ? null : new Feed(route.name)), []);
  useEffect(() => {
    feed?.start();
    return () => feed?.close();
  }, []);
  if (impossible) return html`<div class="page"><h1><${Name} of=${route.name} /></h1><${Problem} error=${impossible} /></div>`;
  return html`<${Opened} route=${route} who=${who} feed=${feed} address=${address} />`;
}

function Opened({ route, who, feed, address }) {
  useFeed(feed);
  const [changes, setChanges] = useState(0);
  const tick = useThrottled(feed.ticks, 1000);
  const { data, problem, again } = useLoad(address, { tick: changes + Math.floor(useNow(REFRESH) / REFRESH), gap: 0 });
  // what was loaded just now is newer than what the stream sent before
  useEffect(() => {
    feed.status = null;
  }, [data]);
  const tabs = useRef(null);
  useEffect(() => {
    const current = tabs.current?.querySelector('[aria-current="page"]');
    if (current) tabs.current.scrollLeft = current.offsetLeft - (tabs.current.clientWidth - current.clientWidth) / 2;
  }, [route.tab, data === null]);
  const changed = () => setChanges((value) => value + 1);
  if (problem && !data) {
    return html`<div class="page"><h1><${Name} of=${route.name} /></h1><${Problem} error=${problem} again=${problem.status === 404 ? null : again}>
      <p><a href="#/agents">Show all agents</a></p><//></div>`;
  }
  if (!data) return html`<div class="page"><${Loading} what="the agent" /></div>`;
  const status = { ...data.agent, ...(feed.status ?? {}) };
  const View = VIEWS.get(route.tab);
  return html`<div class="agent">
    <div class="agent-head">
      <div class="title">
        <h1><${Name} of=${status.name} /></h1>
        <p class="quiet"><code class="policy">${shown(status.policy)}</code>${data.agent.posterior ? html` · <code>${shown(data.agent.posterior)}</code>` : ""}${data.agent.graph ? html` · graph <code>${clipped(data.agent.graph, 40)}</code>` : ""}${data.agent.created ? html` · created <time datetime=${data.agent.created} title=${data.agent.created}>${day(data.agent.created)}</time>` : ""}</p>
      </div>
      <dl class="stats">
        <${Stat} label="Arms" term="arms" value=${status.arms} />
        <${Stat} label="Decisions" term="decisions" value=${status.decisions} />
        <${Stat} label="Open" term="open" value=${status.open} />
        <${Stat} label="Outcomes" term="outcomes" value=${status.outcomes} />
        ${status.learned > 0 && html`<${Stat} label="Learned" term="learned" value=${status.learned} />`}
        <${Stat} label="Late" term="late" value=${status.late} tone=${status.late ? "warn" : ""} />
        <${Stat} label="Expired" term="expired" value=${status.expired} />
      </dl>
    </div>
    <div class="tab-line">
      <nav ref=${tabs} class="tabs" aria-label="Views of the agent">
        ${TABS.map(([tab, label]) => html`<a key=${tab} href=${agentAddress(route.name, tab)} aria-current=${tab === route.tab ? "page" : undefined}>${label}</a>`)}
      </nav>
      <${Connection} feed=${feed} />
    </div>
    ${feed.connection.kind === "stopped" && html`<${Problem} error=${feed.connection.problem} />`}
    <div class="tab-body"><${View} name=${route.name} route=${route} who=${who} feed=${feed} tick=${tick + changes} agent=${status} changed=${changed} /></div>
  </div>`;
}
