// What every page has: times in the reader's zone, copying, asking before what cannot be undone, live parts.

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
    document.execCommand("copy"); // plain http in a local network has no clipboard
  }
  button.textContent = "Copied";
});

document.addEventListener("submit", (event) => {
  const words = event.submitter?.dataset.ask ?? event.target.dataset.ask;
  if (words && !window.confirm(words)) event.preventDefault();
});

document.addEventListener("change", (event) => {
  if (!event.target.matches("[data-submit]")) return;
  const words = event.target.selectedOptions?.[0]?.dataset.ask;
  if (words && !window.confirm(words)) event.target.form.reset();
  else event.target.form.requestSubmit();
});

// A part that is fetched again every few seconds, while somebody looks at it.
const part = document.querySelector("[data-live]");
if (part) {
  const sign = document.querySelector("[data-live-sign]");
  const every = 1000 * Number(part.dataset.every ?? 4);
  const refresh = async () => {
    if (!document.hidden) {
      try {
        const answer = await fetch(part.dataset.live, { headers: { Accept: "text/html" } });
        if (answer.status === 401) location.reload();
        if (!answer.ok) throw new Error(answer.status);
        const text = await answer.text();
        const selected = window.getSelection()?.toString();
        if (!selected && !part.contains(document.activeElement)) part.innerHTML = text;
        for (const time of part.querySelectorAll("time[data-at]")) localTime(time);
        say(true);
      } catch {
        say(false);
      }
    }
    setTimeout(refresh, every);
  };
  const say = (isOn) => {
    sign?.classList.toggle("off", !isOn);
    if (sign) sign.textContent = isOn ? "live" : "no connection; trying again";
  };
  setTimeout(refresh, every);
}

document.querySelector(".tabs [aria-current]")?.scrollIntoView({ inline: "nearest", block: "nearest" });
