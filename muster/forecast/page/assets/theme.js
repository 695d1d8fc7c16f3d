// The colors of canvases: those of the style sheet, read again when the color scheme changes.

const theme = {
  colors: {},
  listeners: [],

  read() {
    const style = getComputedStyle(document.documentElement);
    for (const name of ["text", "muted", "line", "panel", "page", "accent", "in-use", "pending", "pending-fill", "quota", "range",
      "finished", "preempted", "failed", "not-provisioned", "horizon", "deactivated", "cancelled", "provisioning", "on-bar"]) {
      this.colors[name] = style.getPropertyValue(`--${name}`).trim();
    }
    for (const listener of this.listeners) listener();
  },

  color(name) {
    return this.colors[name];
  },
};

const END_COLORS = ["finished", "preempted", "failed", "not-provisioned", "horizon", "deactivated", "cancelled"];

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => theme.read());

// Paper is white: the style sheet's colors for print, and canvases drawn in them.
addEventListener("beforeprint", () => {
  document.documentElement.classList.add("printing");
  theme.read();
});
addEventListener("afterprint", () => {
  document.documentElement.classList.remove("printing");
  theme.read();
});
