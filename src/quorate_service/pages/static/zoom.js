// An image in the whole window, fitted at first: wheel or pinch zooms, dragging moves, a click, Escape or Z closes.

const MOST = 12, STEP = 1.4, MOVE = 80, CLICK = 6; // largest zoom, zoom factor of a step, pixels of a move and of a click

export class Zoom {
  constructor(dialog) {
    this.dialog = dialog;
    this.pane = dialog.querySelector("[data-pane]");
    this.image = dialog.querySelector("img");
    this.fingers = new Map(); // pointers that are down, by id
    this.path = 0; // how far they moved, to recognise a click
    dialog.addEventListener("close", () => { this.fingers.clear(); this.image.removeAttribute("src"); this.back?.focus({ preventScroll: true }); });
    dialog.addEventListener("click", (event) => this.press(event.target.closest("button")?.dataset.zoom));
    dialog.addEventListener("keydown", (event) => this.key(event));
    this.pane.addEventListener("wheel", (event) => { event.preventDefault(); this.scale(Math.exp(-event.deltaY / 400), event.clientX, event.clientY); }, { passive: false });
    this.pane.addEventListener("pointerdown", (event) => this.down(event));
    this.pane.addEventListener("pointermove", (event) => this.move(event));
    for (const name of ["pointerup", "pointercancel"]) this.pane.addEventListener(name, (event) => this.up(event, name === "pointerup"));
    this.image.addEventListener("load", () => this.fit());
    addEventListener("resize", () => { if (dialog.open) this.fit(); });
  }

  open(shown) {
    this.back = document.activeElement;
    this.image.src = shown.src;
    this.image.alt = shown.alt || "The image to vote on";
    this.dialog.showModal();
    this.pane.focus();
    if (this.image.complete) this.fit();
  }

  close() { if (this.dialog.open) this.dialog.close(); }

  fit() {
    const { clientWidth: width, clientHeight: height } = this.pane;
    const { naturalWidth, naturalHeight } = this.image;
    this.least = Math.min(width / (naturalWidth || 1), height / (naturalHeight || 1));
    this.size = this.least;
    this.x = (width - this.size * naturalWidth) / 2;
    this.y = (height - this.size * naturalHeight) / 2;
    this.draw();
  }

  // Zoom by a factor around a point of the window.
  scale(factor, x = this.pane.clientWidth / 2, y = this.pane.clientHeight / 2) {
    const size = Math.min(Math.max(this.size * factor, this.least), Math.max(MOST * this.least, 2));
    this.x = x - (x - this.x) * size / this.size;
    this.y = y - (y - this.y) * size / this.size;
    this.size = size;
    this.draw();
  }

  draw() {
    this.x = within(this.x, this.pane.clientWidth, this.size * this.image.naturalWidth);
    this.y = within(this.y, this.pane.clientHeight, this.size * this.image.naturalHeight);
    this.image.style.transform = `translate(${this.x}px, ${this.y}px) scale(${this.size})`; // by script: no style in the page
  }

  down(event) {
    if (!this.fingers.size) this.path = 0;
    this.fingers.set(event.pointerId, event);
    this.pane.setPointerCapture(event.pointerId);
  }

  move(event) {
    const before = this.fingers.get(event.pointerId);
    if (!before) return;
    const other = [...this.fingers.values()].find((each) => each.pointerId !== event.pointerId);
    this.fingers.set(event.pointerId, event);
    this.path += apart(event, before);
    const share = other ? 2 : 1; // each of two fingers contributes half of its movement
    this.x += (event.clientX - before.clientX) / share;
    this.y += (event.clientY - before.clientY) / share;
    if (!other) return this.draw();
    this.path = Infinity;
    this.scale(apart(event, other) / Math.max(apart(before, other), 1), (event.clientX + other.clientX) / 2, (event.clientY + other.clientY) / 2);
  }

  up(event, isClick) {
    this.fingers.delete(event.pointerId);
    if (isClick && !this.fingers.size && this.path < CLICK && event.button === 0) this.isClick = true;
  }

  press(name) {
    const isClick = this.isClick;
    this.isClick = false;
    if (name === "in") this.scale(STEP);
    else if (name === "out") this.scale(1 / STEP);
    else if (name === "close" || isClick) this.close();
  }

  key(event) {
    const ways = { ArrowLeft: [MOVE, 0], ArrowRight: [-MOVE, 0], ArrowUp: [0, MOVE], ArrowDown: [0, -MOVE] };
    const way = ways[event.key];
    if (way) { this.x += way[0]; this.y += way[1]; this.draw(); }
    else if (event.key === "+" || event.key === "=") this.scale(STEP);
    else if (event.key === "-") this.scale(1 / STEP);
    else return;
    event.preventDefault();
  }
}

const apart = (one, other) => Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY);

// The position of an edge: centred if the image is smaller than the window, else such that the image fills the window.
function within(edge, room, length) {
  return length <= room ? (room - length) / 2 : Math.min(0, Math.max(room - length, edge));
}
