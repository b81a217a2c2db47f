// On every page: times in the visitor's zone, copy buttons, confirmations, parts that refresh themselves.

for (const time of document.querySelectorAll("time[data-at]")) localTime(time);

function localTime(time) {
  const when = new Date(1000 * Number(time.dataset.at));
  const today = new Date().toDateString() === when.toDateString();
  const clock = { hour: "2-digit", minute: "2-digit", second: time.dataset.seconds ? "2-digit" : undefined };
  const date = { year: "numeric", month: "short", day: "numeric" };
  time.title = when.toISOString();
  time.textContent = when.toLocaleString("en-GB", today ? clock : { ...date, ...clock });
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const field = document.getElementById(button.dataset.copy);
  field.select();
  try {
    await navigator.clipboard.writeText(field.value);
  } catch {
    document.execCommand("copy"); // there is no clipboard API on plain http
  }
  button.textContent = "Copied";
});

document.addEventListener("submit", (event) => {
  const chosen = event.target.querySelector("option:checked[data-ask]");
  const words = event.submitter?.dataset.ask ?? event.target.dataset.ask ?? chosen?.dataset.ask;
  if (words && !window.confirm(words)) event.preventDefault();
});

for (const all of document.querySelectorAll("[data-choose-all]")) { // only with this script
  all.hidden = false;
  all.addEventListener("change", (event) => {
    for (const box of all.closest("form").querySelectorAll("[name=item]")) box.checked = event.target.checked;
  });
}

const unsaved = new Set();
for (const select of document.querySelectorAll("[data-unsaved]")) { // says so until its button is pressed
  const sign = select.form.querySelector("[role=status]"), button = select.form.querySelector("button"), before = select.value;
  const follow = () => {
    const isChanged = select.value !== before;
    unsaved[isChanged ? "add" : "delete"](select);
    button.disabled = !isChanged;
    button.classList.toggle("primary", isChanged);
    sign.textContent = isChanged ? "not saved" : "";
  };
  select.addEventListener("change", follow);
  addEventListener("pageshow", follow); // a browser may restore what was chosen
}
addEventListener("submit", (event) => { if (!event.defaultPrevented) unsaved.delete(event.target.querySelector("[data-unsaved]")); });
addEventListener("beforeunload", (event) => { if (unsaved.size) event.preventDefault(); });

// A part that is fetched again every few seconds while the page is visible. The sign beside it says how old the numbers
// are. Numbers with an older version than those shown are ignored; times are not compared, as clocks can be set back.
const part = document.querySelector("[data-live]");
if (part) {
  const sign = document.querySelector("[data-live-sign]");
  const every = 1000 * Number(part.dataset.every ?? 4);
  let isConnected = true;
  let fetched = performance.now();
  const shown = () => part.querySelector("[data-age]");
  const isOlder = (news) => Number(news.dataset.version) < Number(shown().dataset.version);
  const refresh = async () => {
    if (!document.hidden) {
      try {
        const answer = await fetch(part.dataset.live, { headers: { Accept: "text/html" } });
        if (answer.status === 401) location.reload();
        if (!answer.ok) throw new Error(answer.status);
        const news = document.createRange().createContextualFragment(await answer.text());
        const selected = window.getSelection()?.toString();
        if (!selected && !part.contains(document.activeElement) && !isOlder(news.querySelector("[data-age]"))) {
          part.replaceChildren(news);
          fetched = performance.now();
        }
        for (const time of part.querySelectorAll("time[data-at]")) localTime(time);
        isConnected = true;
      } catch {
        isConnected = false;
      }
    }
    say();
    setTimeout(refresh, every);
  };
  const say = () => {
    const age = Number(shown().dataset.age) + (performance.now() - fetched) / 1000;
    const isLive = isConnected && age <= Number(sign.dataset.liveSign);
    const old = age < 120 ? `${Math.round(age)} s` : age < 7200 ? `${Math.round(age / 60)} min` : `${Math.round(age / 3600)} h`;
    sign.classList.toggle("off", !isLive);
    sign.textContent = isLive ? "live" : `${isConnected ? "" : "no connection; "}numbers are ${old} old`;
  };
  setTimeout(refresh, every);
  setInterval(say, 1000);
}

document.querySelector(".tabs [aria-current]")?.scrollIntoView({ inline: "nearest", block: "nearest" });
