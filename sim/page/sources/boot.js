/* The last source of every page: unpacks the data and shows it. */
document.body.append(probe, tip);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
addEventListener("beforeprint", recolour);
/* The head is painted first; a tab that nobody sees has no frames. */
new Promise(painted => { requestAnimationFrame(() => setTimeout(painted)); setTimeout(painted, 100); }).then(unpack).then(async data => { await views[data.view](data); document.documentElement.dataset.ready = Math.round(performance.now()); },
  e => $("main").replaceChildren(el("p", { class: "warn" }, "The data of this page cannot be read (" + e.message + "). It needs Chrome 123, Firefox 120 or Safari 17.5; without --html the command prints the result as text.")))
  .catch(e => { $("main").prepend(el("p", { class: "warn" }, "A part of this page cannot be shown: " + e.message + ".")); throw e; });
