// Draws attempts as bars: one pass a color of rectangles on whole pixels, which is what a canvas does fastest.

const FADED = 0.22;
const NAME_LANE_HEIGHT = 13;
const NAMES_MAX = 500;

const BAR_COLORS = [...END_COLORS, "provisioning"];
const PROVISIONING = END_COLORS.length;

// Collects rectangles by color, faded or not, then fills them. Touching ones of one color become one.
class Bars {
  #groups = BAR_COLORS.flatMap(() => [[], []]); // by 2 × color + faded: x, y, width, height of each
  #open = null; // the rectangle that the next one may lengthen

  add(color, faded, x, y, width, height) {
    const group = this.#groups[2 * color + (faded ? 1 : 0)];
    const open = this.#open;
    if (open === group) {
      const last = group.length - 4;
      if (group[last + 1] === y && group[last] + group[last + 2] >= x) {
        group[last + 2] = Math.max(group[last + 2], x + width - group[last]);
        return;
      }
    }
    group.push(x, y, width, height);
    this.#open = group;
  }

  fill(context) {
    for (const faded of [1, 0]) {
      context.globalAlpha = faded ? FADED : 1;
      BAR_COLORS.forEach((name, color) => {
        const group = this.#groups[2 * color + faded];
        context.fillStyle = theme.color(name);
        for (let i = 0; i < group.length; i += 4) context.fillRect(group[i], group[i + 1], group[i + 2], group[i + 3]);
      });
    }
    context.globalAlpha = 1;
  }
}

// Adds the bars of one lane within the scale's span, and to `wide` those with room for a name. `isFaded` is null
// without a search; bars that one has found are drawn even where they cover another.
function addLane(bars, lane, side, scale, y, height, isFaded, wide) {
  const {from, to, left: least, right: most, perTick} = scale;
  const x = (time) => Math.round(Math.min(most, Math.max(least, least + 1 + (time - from) * perTick)));
  let drawnTo = -1; // attempts that end at or before this pixel are covered by their predecessors
  for (let i = firstWhere(0, lane.length, (at) => side.ended[lane[at]] > from); i < lane.length; i++) {
    const attempt = lane[i];
    if (side.reserved[attempt] > to) break;
    const left = x(side.reserved[attempt]);
    const right = Math.max(left + 1, x(side.ended[attempt]));
    const faded = isFaded !== null && isFaded(attempt);
    if (right <= drawnTo && (faded || !isFaded)) continue;
    drawnTo = right;
    const gap = right - left > 3 ? 1 : 0; // between neighbours in a lane
    const started = side.started[attempt] < 0 ? right : x(side.started[attempt]);
    if (started > left) bars.add(PROVISIONING, faded, left, y, Math.min(started, right) - left, height);
    const color = side.end[attempt];
    if (started < right - gap) bars.add(color, faded, started, y, right - gap - started, height);
    // A gang that never ran shows why at its end.
    else bars.add(color, faded, Math.max(left, right - 3), y, 2, height);
    if (right - started > 34) wide.push({attempt, left: started, width: right - started, y, faded});
  }
}

function drawNames(context, wide, side, height) {
  context.font = FONT;
  context.textBaseline = "middle";
  context.fillStyle = theme.color("on-bar");
  for (const {attempt, left, width, y, faded} of wide.slice(0, NAMES_MAX)) {
    const room = Math.floor((width - 10) / 6.2);
    if (room < 4) continue;
    const name = side.model.names[side.job[attempt]];
    context.globalAlpha = faded ? FADED : 1;
    context.fillText(name.length > room ? `${name.slice(0, room - 1)}…` : name, left + 5, y + height / 2 + 0.5);
  }
  context.globalAlpha = 1;
}
