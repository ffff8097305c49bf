// Replaces the parts of a page that have changed, every two seconds, without reloading it.
"use strict";
(() => {
  const root = document.querySelector("[data-source]");
  const status = document.getElementById("connection");
  if (!root || !status) return;
  const every = 2000;
  let failures = 0;

  const say = (state, words) => {
    if (status.dataset.state === state) return;
    status.dataset.state = state;
    status.textContent = words;
  };

  const replaceParts = (text) => {
    const fresh = new DOMParser().parseFromString(text, "text/html");
    for (const part of fresh.querySelectorAll("[data-part]")) {
      const old = document.getElementById(part.id);
      // Loops or sections have come or gone: the page is made anew.
      if (!old) return location.reload();
      // A part that is in use is kept until the viewer leaves it.
      const used = old.contains(document.activeElement) || getSelection().containsNode(old, true) && !getSelection().isCollapsed;
      if (!used && old.innerHTML !== part.innerHTML) old.replaceWith(document.importNode(part, true));
    }
  };

  const poll = async () => {
    if (!document.hidden) {
      try {
        const answer = await fetch(root.dataset.source, { credentials: "same-origin", cache: "no-store" });
        if (answer.status === 401) return location.assign("/");
        if (!answer.ok) throw new Error(String(answer.status));
        replaceParts(await answer.text());
        failures = 0;
        say("live", "live");
      } catch {
        failures += 1;
        say("lost", "no connection, trying again");
      }
    }
    setTimeout(poll, every * Math.min(1 + failures, 15));
  };

  setTimeout(poll, every);
})();
