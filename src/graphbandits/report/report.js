// Draws each figure from the JSON beside it; the tables need nothing of this.
"use strict";
(() => {
  const page = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const narrow = matchMedia("(max-width: 600px)");
  const coarse = matchMedia("(pointer: coarse)");
  const redraws = [];

  const css = (name) => getComputedStyle(page).getPropertyValue(name).trim();

  const faint = (hex) => {
    const [r, g, b] = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
    return `rgba(${r}, ${g}, ${b}, 0.18)`;
  };

  // The band of a policy and the line above it, from the best policy to the worst.
  function traces(data, shown, kind) {
    const bands = [];
    const lines = [];
    data.policies.forEach((policy, rank) => {
      const colour = css(`--policy-${policy.colour}`);
      const common = {
        type: "scatter",
        mode: "lines",
        name: policy.name,
        legendgroup: policy.name,
        visible: shown[rank],
      };
      const number = `.${data.digits}f`;
      let template = `%{y:${number}}`;
      let ends;
      if (policy[kind]) {
        const [low, high] = policy[kind];
        bands.push({
          ...common,
          x: [...data.rounds, ...[...data.rounds].reverse()],
          y: [...low, ...[...high].reverse()],
          fill: "toself",
          fillcolor: faint(colour),
          line: { width: 0 },
          hoverinfo: "skip",
        });
        ends = low.map((value, i) => [value, high[i]]);
        template += ` [%{customdata[0]:${number}}, %{customdata[1]:${number}}]`;
      }
      lines.push({
        ...common,
        x: data.rounds,
        y: policy.mean,
        customdata: ends,
        line: { color: colour, dash: policy.dash, width: data.width },
        // the best on top, and first in the box of values
        zorder: data.policies.length - rank,
        hovertemplate: narrow.matches
          ? `<b>%{fullData.name}</b><br>round %{x}<br>${template}<extra></extra>`
          : `${template}<extra>%{fullData.name}</extra>`,
      });
    });
    return [...bands, ...lines];
  }

  // Upper bounds: thin, in the colour of small print, and below the policies.
  const boundDashes = ["6px,3px", "2px,3px", "9px,3px,2px,3px", "1px,3px"];
  function boundTraces(data) {
    return data.bounds.map((bound, i) => ({
      type: "scatter",
      mode: "lines+text",
      name: bound.name,
      x: data.rounds,
      y: bound.values,
      // its name at the end of its line; those of the same end share it
      text: data.rounds.map((_, j) => (j === data.rounds.length - 1 ? boundName(data, i) : "")),
      textposition: "top left",
      textfont: { color: css("--soft"), size: 12 },
      line: { color: css("--soft"), dash: boundDashes[i % boundDashes.length], width: 1.2 },
      hovertemplate: `%{y:.${data.digits}f}<extra>%{fullData.name}</extra>`,
    }));
  }

  function boundName(data, i) {
    const end = (bound) => bound.values[bound.values.length - 1];
    const same = (bound) => Math.abs(end(bound) - end(data.bounds[i])) <= 0.01 * end(bound);
    const names = data.bounds.filter(same).map((bound) => bound.name);
    return names[0] === data.bounds[i].name ? names.join(", ") : "";
  }

  // The range of the best policies and their bands; undefined, which is all that is drawn, for all.
  function rangeOf(data, count, kind) {
    if (count >= data.policies.length) return undefined;
    let [bottom, top] = [0, 0];
    data.policies.slice(0, count).forEach((policy) => {
      [policy.mean, ...(policy[kind] || [])].flat().forEach((value) => {
        bottom = Math.min(bottom, value);
        top = Math.max(top, value);
      });
    });
    return top > bottom ? [bottom, top + 0.05 * (top - bottom)] : undefined;
  }

  function layout(data, view, range) {
    const ink = css("--ink");
    const axis = {
      gridcolor: css("--rule"),
      linecolor: css("--faint"),
      zeroline: false,
      automargin: true,
    };
    const printing = page.classList.contains("printing");
    return {
      autosize: !printing,
      ...(printing ? { width: 640 } : {}),
      height: narrow.matches ? 320 : 440,
      margin: { l: 8, r: 28, t: 32, b: 8 },
      paper_bgcolor: css("--ground"),
      plot_bgcolor: css("--ground"),
      font: { family: "system-ui, sans-serif", size: 13, color: ink },
      showlegend: false,
      // one box with all policies; where there is no room for it, the nearest one
      hovermode: narrow.matches ? "closest" : "x unified",
      hoverlabel: {
        bgcolor: css("--ground"),
        bordercolor: css("--faint"),
        font: { color: ink, family: "system-ui, sans-serif" },
        namelength: -1,
      },
      // a finger that moves over the plot scrolls the page; the buttons zoom
      dragmode: coarse.matches ? false : "zoom",
      modebar: { bgcolor: "rgba(0, 0, 0, 0)", color: css("--faint"), activecolor: ink },
      uirevision: `as the reader left it ${view}`,
      xaxis: {
        ...axis,
        title: { text: "round" },
        range: [0, 1.01 * data.rounds[data.rounds.length - 1]],
        unifiedhovertitle: { text: "round %{x:d}" },
        spikecolor: css("--soft"),
        spikethickness: 1,
      },
      yaxis: { ...axis, title: { text: "mean cumulative regret" }, rangemode: "tozero", range },
    };
  }

  function setUp(figure) {
    const data = JSON.parse(figure.querySelector('script[type="application/json"]').textContent);
    const plot = figure.querySelector(".plot");
    const buttons = [...figure.querySelectorAll(".legend button")];
    const shown = data.policies.map(() => true);
    let kind = "interval";
    let withBounds = false;
    let view = 0; // another range or other lines: zooms are undone
    const radios = (name) => [...figure.querySelectorAll(`input[name$="--${name}"]`)];
    const usual = radios("range").findIndex((input) => input.defaultChecked);
    const counts = radios("range").map((input) => Number(input.value));
    const every = data.policies.length;
    let count = counts[usual] ?? every; // how many of the best policies the range is for
    const config = {
      responsive: true,
      displaylogo: false,
      displayModeBar: true,
      // plotly takes the tap of a finger for a double click
      doubleClick: coarse.matches ? false : "reset",
      // named one by one: plotly also has buttons that send the data away
      modeBarButtons: [
        ["toImage"],
        ["zoom2d", "pan2d"],
        ["zoomIn2d", "zoomOut2d", "resetScale2d"],
      ],
      toImageButtonOptions: { format: "svg", filename: `regret-${figure.dataset.key}` },
    };
    const draw = () => {
      buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(shown[i])));
      radios("range").forEach((input) => (input.checked = Number(input.value) === count));
      figure.querySelectorAll(".cut-off").forEach((note) => {
        note.hidden = Number(note.dataset.count) !== count;
      });
      const drawn = [...traces(data, shown, kind), ...(withBounds ? boundTraces(data) : [])];
      Plotly.react(plot, drawn, layout(data, view, rangeOf(data, count, kind)), config);
    };
    buttons.forEach((button, i) => {
      button.addEventListener("click", (event) => {
        if (event.detail > 1) return; // the rest of a double click
        shown[i] = !shown[i];
        draw();
      });
      button.addEventListener("dblclick", () => {
        const alone = shown.every((on, j) => j === i || !on);
        shown.forEach((_, j) => (shown[j] = alone || j === i));
        draw();
      });
    });
    radios("range").forEach((input) => {
      input.addEventListener("change", () => {
        count = Number(input.value);
        view += 1;
        draw();
      });
    });
    radios("band").forEach((input) => {
      input.checked = input.value === kind; // not what the browser remembers of the last visit
      input.addEventListener("change", () => {
        kind = input.value;
        draw();
      });
    });
    const box = figure.querySelector('input[name$="--bounds"]');
    if (box) {
      box.checked = withBounds;
      box.addEventListener("change", () => {
        withBounds = box.checked;
        count = (withBounds ? undefined : counts[usual]) ?? every; // bounds are far above
        view += 1;
        draw();
      });
    }
    redraws.push(draw);
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
    redraws.forEach((draw) => draw());
  }

  document.querySelectorAll("figure.curves").forEach(setUp);
  document.querySelectorAll("pre.command").forEach(addCopyButton);
  [dark, narrow].forEach((query) =>
    query.addEventListener("change", () => redraws.forEach((draw) => draw())),
  );
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));
})();
